extension Duration {
  /// The shortest timeout that never passes: 2⁶² seconds, some 146 billion years.
  ///
  /// The arithmetic of `Duration` and of the system's clocks traps beyond 2⁶³ seconds. Half of that
  /// leaves room to add any `now`.
  static let forEver = Duration.seconds(1 << 62)

  /// Makes a timeout of a number of seconds. NaN gives zero, and no number traps.
  init(timeoutInSeconds seconds: Double) {
    switch seconds {
    // Whole numbers are the usual case. This conversion takes a tenth of the time of the others.
    case 0..<0x1p53 where seconds == seconds.rounded(.down): self = .seconds(Int64(seconds))
    case (0x1p62)...: self = .forEver
    case (-0x1p62)...: self = .seconds(seconds)
    case ..<0: self = .zero - .forEver
    default: self = .zero
    }
  }
}

extension Clock {
  /// Returns an instant, or one 2⁶² seconds ago if that is later.
  ///
  /// The time from a still earlier instant to now may be too long for a `Duration`.
  @inline(__always)
  func withinReach(_ instant: Instant) -> Instant {
    let now = now
    return instant >= now ? instant : withinReach(instant, before: now)
  }

  /// Returns an instant before `now`, or one 2⁶² seconds ago if that is later.
  ///
  /// The steps from the instant double until one reaches `now`. A step back from `now` could leave the range of the
  /// clock, which may begin shortly before `now`, and at whose ends the clock may trap.
  @inline(never)
  private func withinReach(_ instant: Instant, before now: Instant) -> Instant {
    var seconds: Int64 = 1
    while true {
      guard let step = Swift.Duration.seconds(seconds) as? Duration else { return instant }
      if instant.advanced(by: step) >= now { return instant }
      if seconds == 1 << 62, let stepBack = Swift.Duration.seconds(-seconds) as? Duration {
        return now.advanced(by: stepBack)
      }
      seconds <<= 1
    }
  }
}

extension InstantProtocol {
  /// Returns the instant at which a timeout from this instant on passes. A timeout of zero or less has passed.
  @inline(__always)
  func after(_ timeout: Duration) -> Self { timeout > .zero ? advanced(by: timeout) : self }
}

extension DurationProtocol {
  /// The length with all of its digits, for example `3.0 seconds`.
  ///
  /// The standard library's description is rounded to a `Double`.
  var exactDescription: String {
    guard let duration = self as? Duration else { return "\(self)" }
    let unit: UInt128 = 1_000_000_000_000_000_000
    let (seconds, rest) = duration.attoseconds.magnitude.quotientAndRemainder(dividingBy: unit)
    // Adding `unit` keeps the fraction's leading zeros; the added digit is dropped.
    var fraction = String(rest + unit).dropFirst()
    while fraction.count > 1, fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(duration < .zero ? "-" : "")\(seconds).\(fraction) seconds"
  }

  /// The duration, limited to the range from zero to `forEver`. The system's clocks trap at tolerances outside it.
  var asTolerance: Self {
    guard let duration = self as? Duration else { return self }
    return min(max(duration, .zero), .forEver) as? Self ?? self
  }

  /// Whether a timeout of this length never passes.
  var isForEver: Bool {
    guard let duration = self as? Duration else { return false }
    return duration >= .forEver
  }
}
