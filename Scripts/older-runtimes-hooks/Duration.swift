// What the standard library has since Swift 6.2.

extension Duration {
  public var attoseconds: Int128 {
    Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
  }

  public init(attoseconds: Int128) {
    let parts = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    self.init(
      secondsComponent: Int64(parts.quotient), attosecondsComponent: Int64(parts.remainder))
  }
}
