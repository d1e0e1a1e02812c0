/// A clock of the other package, with the name of ours.
public struct TestClock: Sendable {
  public init() {}

  /// Whose clock it is.
  public var origin: String { "the other package" }
}
