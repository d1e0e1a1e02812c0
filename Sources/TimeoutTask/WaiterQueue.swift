/// The tasks that wait for one outcome, in the order in which they began to wait.
///
/// A continuation enters once and leaves once, and whoever takes it out resumes it: that is how
/// each one comes to be resumed exactly once. The queue does no locking; its owner does.
struct WaiterQueue<Value> {
  typealias Continuation = UnsafeContinuation<Value, Never>

  /// What a waiter is known by. Tickets count upwards in the order in which waiting began.
  struct Ticket: Comparable {
    fileprivate let number: UInt64

    static func < (lhs: Ticket, rhs: Ticket) -> Bool {
      lhs.number < rhs.number
    }
  }

  /// Ordered by ticket. An entry that left early keeps its place, empty, so that leaving costs no
  /// shifting; `compact()` bounds how many such places there are.
  private var entries: [(ticket: Ticket, continuation: Continuation?)] = []

  /// The number of waiters, which is that of the entries that are not empty.
  private(set) var count = 0

  private var nextNumber: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  /// Hands out the next ticket. O(1).
  mutating func takeTicket() -> Ticket {
    defer { nextNumber += 1 }
    return Ticket(number: nextNumber)
  }

  /// Adds a waiter. O(1), or O(d) if d later tickets came in before this one.
  mutating func add(_ continuation: Continuation, with ticket: Ticket) {
    var index = entries.endIndex
    while index > 0, ticket < entries[index - 1].ticket { index -= 1 }
    entries.insert((ticket, continuation), at: index)
    count += 1
  }

  /// Takes out one waiter, or returns `nil` if it is not waiting. O(log n), amortised.
  mutating func remove(_ ticket: Ticket) -> Continuation? {
    guard let index = index(of: ticket) else { return nil }
    guard let continuation = entries[index].continuation else { return nil }
    entries[index].continuation = nil
    count -= 1
    if count < entries.count / 2 { compact() }
    return continuation
  }

  /// All waiters, first come first. O(n).
  ///
  /// Whoever resumes them must be the owner of the only copy of the queue by then.
  var all: [Continuation] {
    entries.compactMap(\.continuation)
  }

  private mutating func compact() {
    entries.removeAll { $0.continuation == nil }
  }

  private func index(of ticket: Ticket) -> Int? {
    var low = entries.startIndex
    var high = entries.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].ticket < ticket { low = middle + 1 } else { high = middle }
    }
    return low < entries.endIndex && entries[low].ticket == ticket ? low : nil
  }
}
