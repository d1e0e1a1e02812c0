import Synchronization

/// A count that any thread may increase.
package final class Tally: Sendable {
  private let count = Atomic(0)

  package init() {}

  package var value: Int { count.load(ordering: .relaxed) }

  package func add() { count.add(1, ordering: .relaxed) }
}
