extension Duration {
  /// The shortest timeout that never passes: 2⁶² seconds, some 146 billion years.
  ///
  /// Beyond 2⁶³ seconds the arithmetic of `Duration` and of the system's clocks traps. The
  /// difference leaves room for any `now`.
  static let forEver = Duration.seconds(1 << 62)

  /// Makes a timeout of a number of seconds. NaN leaves no time, and no number traps.
  init(timeoutInSeconds seconds: Double) {
    switch seconds {
    // The usual case, which takes a tenth of the time of rounding.
    case 0..<0x1p53 where seconds == seconds.rounded(.down): self = .seconds(Int64(seconds))
    case (0x1p62)...: self = .forEver
    case (-0x1p62)...: self = .seconds(seconds)
    case ..<0: self = .zero - .forEver
    default: self = .zero
    }
  }
}

extension DurationProtocol {
  /// The length with all of its digits, for example `3.0 seconds`.
  ///
  /// The standard library's description is rounded to a `Double`.
  var exactDescription: String {
    guard let duration = self as? Duration else { return "\(self)" }
    let unit: UInt128 = 1_000_000_000_000_000_000
    let (seconds, rest) = duration.attoseconds.magnitude.quotientAndRemainder(dividingBy: unit)
    // The digit before the fraction keeps its zeros.
    var fraction = String(rest + unit).dropFirst()
    while fraction.count > 1, fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(duration < .zero ? "-" : "")\(seconds).\(fraction) seconds"
  }

  /// Whether a timeout of this length never passes.
  var isForEver: Bool {
    guard let duration = self as? Duration else { return false }
    return duration >= .forEver
  }
}
