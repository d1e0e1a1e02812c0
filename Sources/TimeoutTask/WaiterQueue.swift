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

  /// The first who came when there was nobody. Mostly there is no other, who would need a table.
  private var only: (ticket: Ticket, waiter: Waiter)?
  private var others: [Ticket: Waiter] = [:]
  private var nextNumber: UInt64 = 0

  /// The number of waiters.
  var count: Int { others.count + (only == nil ? 0 : 1) }

  var isEmpty: Bool { only == nil && others.isEmpty }

  /// All waiters in the order of their tickets. O(n log n).
  var all: [Waiter] {
    var all = others.map { (ticket: $0.key, waiter: $0.value) }
    if let only { all.append(only) }
    return all.sorted { $0.ticket.number < $1.ticket.number }.map(\.waiter)
  }

  /// Resumes all waiters, one after another, in the order of their tickets. O(n log n); O(1) for one.
  func resumeAll(_ resume: (Waiter) -> Void) {
    if others.isEmpty {
      if let only { resume(only.waiter) }
    } else {
      for waiter in all { resume(waiter) }
    }
  }

  /// Hands out the next ticket. O(1).
  mutating func takeTicket() -> Ticket {
    defer { nextNumber += 1 }
    return Ticket(number: nextNumber)
  }

  /// Adds a waiter. O(1).
  mutating func add(_ waiter: Waiter, with ticket: Ticket) {
    if isEmpty { only = (ticket, waiter) } else { others[ticket] = waiter }
  }

  /// Takes out one waiter, or returns `nil` if it is not there. O(1).
  mutating func remove(_ ticket: Ticket) -> Waiter? {
    guard let only, only.ticket == ticket else { return others.removeValue(forKey: ticket) }
    self.only = nil
    return only.waiter
  }
}
