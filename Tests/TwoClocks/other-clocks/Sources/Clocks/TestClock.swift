/// A type with the same name as a type in swift-test-clocks.
public struct TestClock: Sendable {
  public init() {}

  public var origin: String { "the other package" }
}
