import Synchronization

/// A number that any thread may raise.
final class Tally: Sendable {
  private let number = Atomic(0)

  var value: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
}
