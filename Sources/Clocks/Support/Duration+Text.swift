extension Duration {
  /// The length in seconds, for example `86,400 s` or `0.25 s`; of very small fractions no more than
  /// 18 digits.
  @_spi(TestKit) public var inSeconds: String {
    let (seconds, attoseconds) = components
    let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
    guard attoseconds != 0 else { return sign + seconds.magnitude.grouped + " s" }
    var fraction = String(attoseconds.magnitude)
    fraction = String(repeating: "0", count: 18 - fraction.count) + fraction
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(sign)\(seconds.magnitude.grouped).\(fraction) s"
  }
}

extension UInt64 {
  fileprivate var grouped: String {
    self <= UInt64(Int.max) ? Int(self).grouped : "9,223,372,036,854,775,808"
  }
}
