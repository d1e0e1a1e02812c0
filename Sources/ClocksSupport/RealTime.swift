#if !os(Linux) && !canImport(CRT) && !canImport(WASILibc)
  import Dispatch
#endif

/// An instant of real time, even inside a scope.
package struct RealTime: Comparable, Sendable {
  /// The time since an instant that is the same for the whole process; `.max` is never.
  package let nanoseconds: UInt64

  package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The instant that is `duration` from now. O(1).
  package init(in duration: Duration) {
    nanoseconds = Self.now.adding(duration)
  }

  package static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  package var hasPassed: Bool { Self.now >= nanoseconds }

  /// Whether the instant passed at least `extra` nanoseconds ago.
  package func hasPassed(by extra: UInt64) -> Bool {
    hasPassed && nanosecondsSince >= extra
  }

  /// The real time since the instant, in nanoseconds; 0 before it.
  package var nanosecondsSince: UInt64 {
    let now = Self.now
    return now > nanoseconds ? now - nanoseconds : 0
  }

  /// The real time until the instant, in nanoseconds; 0 after it, `nil` if it is never reached.
  package var nanosecondsLeft: UInt64? {
    guard nanoseconds != .max else { return nil }
    let now = Self.now
    return now < nanoseconds ? nanoseconds - now : 0
  }

  /// Whether at least `duration` has passed since the instant.
  package func lasts(_ duration: Duration) -> Bool { Self.now >= nanoseconds.adding(duration) }

  #if os(Linux)
    /// The C library's `clock_gettime`; `nil` until the hooks are installed.
    ///
    /// A search redirects the calls by this image to a function that reports that the test reads a clock. The variable
    /// has no initial value, because reading a lazy constant would cost a call.
    nonisolated(unsafe) package static var originalRead:
      (@convention(c) (clockid_t, UnsafeMutablePointer<timespec>) -> CInt)?
  #endif

  private static var now: UInt64 {
    #if os(Linux)
      var reading = timespec()
      if let originalRead {
        _ = originalRead(CLOCK_MONOTONIC, &reading)
      } else {
        clock_gettime(CLOCK_MONOTONIC, &reading)
      }
      return UInt64(reading.tv_sec) * 1_000_000_000 + UInt64(reading.tv_nsec)
    #elseif canImport(CRT) || canImport(WASILibc)
      return sinceFirstReading
    #else
      return DispatchTime.now().uptimeNanoseconds
    #endif
  }
}

extension UInt64 {
  /// The instant `duration` later, in whole nanoseconds; a very long duration lasts forever.
  fileprivate func adding(_ duration: Duration) -> UInt64 {
    // `components` traps beyond the range of an `Int64`.
    guard self != .max, duration < .seconds(1_000_000_000) else { return .max }
    guard duration > .zero else { return self }
    let (seconds, attoseconds) = duration.components
    return self + UInt64(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}

extension Duration {
  /// The length in seconds, for example `86,400 s` or `0.25 s`; `∞` for a duration that means forever.
  package var inSeconds: String {
    let (sign, seconds, fraction) = digits
    // The limit is some thirty million years, or what a 32-bit `Int` holds.
    guard seconds < 1_000_000_000_000_000, let seconds = Int(exactly: seconds) else {
      return sign + "∞"
    }
    return sign + seconds.grouped + (fraction.isEmpty ? " s" : ".\(fraction) s")
  }

  /// The length with all of its digits, for example `3.0 seconds`.
  ///
  /// Unlike this text, the standard library's description is rounded to a `Double`.
  package var exactDescription: String {
    let (sign, seconds, fraction) = digits
    return "\(sign)\(seconds).\(fraction.isEmpty ? "0" : fraction) seconds"
  }

  /// The length as Swift code, for example `.milliseconds(5)`.
  package var swiftCode: String {
    let units: [(name: String, attoseconds: Int128)] = [
      ("seconds", 1_000_000_000_000_000_000), ("milliseconds", 1_000_000_000_000_000),
      ("microseconds", 1_000_000_000_000), ("nanoseconds", 1_000_000_000),
    ]
    for unit in units where attoseconds % unit.attoseconds == 0 {
      return ".\(unit.name)(\(attoseconds / unit.attoseconds))"
    }
    return ".init(attoseconds: \(attoseconds))"
  }

  /// The sign, the whole seconds, and the digits of the fraction without zeros at their end.
  private var digits: (sign: String, seconds: UInt128, fraction: String) {
    // `components` traps beyond the range of an `Int64`.
    let unit: UInt128 = 1_000_000_000_000_000_000
    let (seconds, rest) = attoseconds.magnitude.quotientAndRemainder(dividingBy: unit)
    // `unit` adds a digit before the fraction, so that the text keeps the fraction's leading zeros.
    var fraction = String(rest + unit).dropFirst()
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return (attoseconds < 0 ? "-" : "", seconds, String(fraction))
  }

  package var seconds: Double {
    // Whole seconds are exact. `components` would trap where they do not fit into 64 bits.
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    return Double(whole) + Double(rest) * 1e-18
  }
}

// Overload resolution prefers these interpolations to the standard library's, so this package prints exact durations.
extension DefaultStringInterpolation {
  package mutating func appendInterpolation(_ duration: Duration) {
    appendLiteral(duration.exactDescription)
  }

  package mutating func appendInterpolation<D: DurationProtocol>(_ duration: D) {
    appendLiteral((duration as? Duration)?.exactDescription ?? String(describing: duration))
  }
}

extension Int {
  /// The number with a comma before every three digits, for example `12,345`.
  package var grouped: String {
    let digits = String(magnitude)
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }
}
