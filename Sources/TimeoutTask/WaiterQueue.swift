/// The tasks that wait for one outcome, in the order in which they began to wait.
///
/// A waiter enters once and leaves once, and whoever takes it out resumes it: that is how each one
/// comes to be resumed exactly once. The queue does no locking; its owner does.
struct WaiterQueue<Waiter> {
  /// What a waiter is known by. Tickets count upwards in the order in which waiting began.
  struct Ticket {
    fileprivate let number: UInt64
  }

  /// Ordered by ticket. A waiter that left early leaves its place empty, so that leaving moves no
  /// others; `remove(_:)` sees to it that no more than half of the places are empty.
  private var places: [(number: UInt64, waiter: Waiter?)] = []

  /// The number of waiters, which is that of the places that are not empty.
  private(set) var count = 0

  private var nextNumber: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  /// All waiters, first come first. O(n) to go through.
  var all: some Sequence<Waiter> {
    places.lazy.compactMap { $0.waiter }
  }

  /// Hands out the next ticket. O(1).
  mutating func takeTicket() -> Ticket {
    defer { nextNumber += 1 }
    return Ticket(number: nextNumber)
  }

  /// Adds a waiter. O(1), or O(d) if d later tickets came in before this one.
  mutating func add(_ waiter: Waiter, with ticket: Ticket) {
    var index = places.endIndex
    while index > 0, ticket.number < places[index - 1].number { index -= 1 }
    places.insert((ticket.number, waiter), at: index)
    count += 1
  }

  /// Takes out one waiter, or returns `nil` if it is not there. O(log n), amortised.
  mutating func remove(_ ticket: Ticket) -> Waiter? {
    guard let index = index(of: ticket.number), let waiter = places[index].waiter else {
      return nil
    }
    places[index].waiter = nil
    count -= 1
    if count < places.count / 2 { places.removeAll { $0.waiter == nil } }
    return waiter
  }

  private func index(of number: UInt64) -> Int? {
    var low = places.startIndex
    var high = places.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if places[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < places.endIndex && places[low].number == number ? low : nil
  }
}
