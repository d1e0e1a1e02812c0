/// The tasks that wait for one outcome.
///
/// A waiter enters once and leaves once, and whoever takes it out resumes it. So each waiter is
/// resumed exactly once. The queue does no locking; its owner does.
///
/// A task takes its ticket before it is suspended, because its cancellation handler has to name the
/// waiter and may run before the waiter is here.
struct WaiterQueue<Waiter> {
  /// What a waiter is known by. Tickets count upwards in the order in which tasks began to wait.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
  }

  private var waiters: [Ticket: Waiter] = [:]
  private var nextNumber: UInt64 = 0

  /// The number of waiters.
  var count: Int { waiters.count }

  var isEmpty: Bool { waiters.isEmpty }

  /// All waiters in the order of their tickets. O(n log n); O(1) for one waiter.
  var all: [Waiter] {
    if waiters.count < 2 { return Array(waiters.values) }
    return waiters.sorted { $0.key.number < $1.key.number }.map(\.value)
  }

  /// Hands out the next ticket. O(1).
  mutating func takeTicket() -> Ticket {
    defer { nextNumber += 1 }
    return Ticket(number: nextNumber)
  }

  /// Adds a waiter. O(1).
  mutating func add(_ waiter: Waiter, with ticket: Ticket) {
    waiters[ticket] = waiter
  }

  /// Takes out one waiter, or returns `nil` if it is not there. O(1).
  mutating func remove(_ ticket: Ticket) -> Waiter? {
    waiters.removeValue(forKey: ticket)
  }
}
