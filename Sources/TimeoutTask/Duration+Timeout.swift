extension Duration {
  /// From here on a timeout never passes: 2⁶² seconds, some 146 billion years.
  ///
  /// Beyond 2⁶³ seconds the arithmetic of `Duration`, and that of the system's clocks, traps; the
  /// distance between the two leaves room for any `now`.
  static let forEver = Duration.seconds(1 << 62)

  /// The timeout that a number of seconds stands for; NaN leaves no time, and no number traps.
  init(timeoutInSeconds seconds: Double) {
    switch seconds {
    // Mostly; and this takes a tenth of what rounding takes.
    case 0..<0x1p53 where seconds == seconds.rounded(.down): self = .seconds(Int64(seconds))
    case (0x1p62)...: self = .forEver
    case (-0x1p62)...: self = .seconds(seconds)
    case ..<0: self = .zero - .forEver
    default: self = .zero
    }
  }
}

extension DurationProtocol {
  /// Whether a timeout of this length never passes.
  var isForEver: Bool {
    guard let duration = self as? Duration else { return false }
    return duration >= .forEver
  }
}
