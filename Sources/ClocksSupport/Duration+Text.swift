extension Duration {
  /// The length in seconds, for example `86,400 s` or `0.25 s`; `∞` for a duration that means forever.
  package var inSeconds: String {
    // `components` traps beyond the range of an `Int64`.
    let unit: UInt128 = 1_000_000_000_000_000_000
    let (seconds, rest) = attoseconds.magnitude.quotientAndRemainder(dividingBy: unit)
    let sign = attoseconds < 0 ? "-" : ""
    // Some thirty million years.
    guard seconds < 1_000_000_000_000_000 else { return sign + "∞" }
    guard rest != 0 else { return sign + Int(seconds).grouped + " s" }
    var fraction = String(rest)
    fraction = String(repeating: "0", count: 18 - fraction.count) + fraction
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(sign)\(Int(seconds).grouped).\(fraction) s"
  }

  /// The length in seconds, rounded.
  package var seconds: Double {
    Double(attoseconds) * 1e-18
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
