import ClocksSupport

/// What there is to do for a task that sleeps when its sleep is over.
enum Sleeper: Sendable {
  /// The task waits for its continuation; `isOwn` says whether it belongs to the test of the clock.
  case continuation(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// The task waits for this job of the runtime's to resume it.
  case job(ReadyJob)
  /// No task sleeps, but work is to begin.
  case work(TimedCallback)
}

/// The sleeps of one clock, ordered by deadline and then by registration.
///
/// A four-ary heap of small entries, and beside it a table of slots, one for each sleep, in which
/// an entry's position is kept up to date, so that a cancelled sleep is found and removed without a
/// search.
///
/// Adding, waking and cancelling a sleep cost O(log n). Slots are used again; memory is bounded by
/// the largest number of sleeps that there ever were at the same time.
struct SleepQueue<Instant: Comparable & Sendable> {
  /// Names one sleep, for ever: a slot is used again, a number never.
  struct Token: Sendable {
    fileprivate var slot: Int32
    /// The number of the sleep: the first one is 0, the next one 1, and so on.
    fileprivate(set) var number: UInt64
  }

  /// What is told about a pending sleep, apart from its deadline.
  struct Details {
    /// When the sleep was registered.
    var registered: Instant
    /// The task that sleeps; valid for as long as the sleep is pending.
    var task: UnownedTask?
    /// Its id, for whoever asks when the task may be over.
    var taskID: UInt64 = 0
    /// What kind of clock the task sleeps on.
    var clock: ClockKind
    var tolerance: Instant?
  }

  /// A pending sleep, for somebody who asks.
  struct Pending {
    var deadline: Instant
    var number: UInt64
    var taskName: String?
    var details: Details
  }

  /// Whether a sleep was registered, or had been cancelled before.
  enum Registration {
    case suspended
    case cancelled
  }

  private struct Entry {
    var deadline: Instant
    var number: UInt64
    var slot: Int32
  }

  private struct Slot {
    var number: UInt64
    var sleeper: Sleeper?
  }

  private enum Position {
    /// The slot is not in use.
    static var free: Int32 { -1 }
    /// The sleep is announced; its task is on its way to suspend.
    static var reserved: Int32 { -2 }
    /// The sleep was cancelled while it was reserved.
    static var cancelled: Int32 { -3 }
  }

  /// A heap: no entry comes before its parent, which is at `(position - 1) / 4`.
  private var heap: [Entry] = []
  /// For each slot the position of its entry in `heap`, or one of the negative values in
  /// `Position`.
  ///
  /// Apart from `slots`, because every step in the heap writes here and should find all of it in
  /// the cache.
  private var positions: [Int32] = []
  private var slots: [Slot] = []
  /// What is told about the sleep in each slot, if anybody asks; outdated in a free one.
  ///
  /// Apart from `slots`, and left alone when a sleep ends, because it is large and rarely read.
  private var details: [Details?] = []
  /// The names of the tasks that have one, by the slots of their sleeps; outdated for a free slot.
  ///
  /// Apart from `details`, which then are plain words and cost little to write.
  private var names: [Int32: String] = [:]
  private var freeSlots: [Int32] = []
  private var nextNumber: UInt64 = 0

  /// The number of suspended sleeps. O(1).
  var count: Int { heap.count }

  /// The deadline that is reached first. O(1).
  var earliestDeadline: Instant? { heap.first?.deadline }

  /// Announces a sleep, so that it can be cancelled before its task is suspended. Amortized O(1).
  mutating func reserve() -> Token {
    let number = nextNumber
    nextNumber += 1
    if let slot = freeSlots.popLast() {
      slots[Int(slot)].number = number
      positions[Int(slot)] = Position.reserved
      return Token(slot: slot, number: number)
    }
    let slot = Int32(slots.count)
    slots.append(Slot(number: number))
    details.append(nil)
    positions.append(Position.reserved)
    return Token(slot: slot, number: number)
  }

  /// Registers an announced sleep under its deadline, unless it was cancelled in the meantime.
  /// O(log n).
  ///
  /// - Parameter name: The name of the task that sleeps, if it has one.
  mutating func suspend(
    _ token: Token, _ sleeper: Sleeper, until deadline: Instant, name: String? = nil,
    details: Details
  ) -> Registration {
    let slot = Int(token.slot)
    if positions[slot] == Position.cancelled {
      release(token.slot)
      return .cancelled
    }
    slots[slot].sleeper = sleeper
    self.details[slot] = details
    if name != nil || !names.isEmpty { names[token.slot] = name }
    let entry = Entry(deadline: deadline, number: token.number, slot: token.slot)
    heap.append(entry)
    siftUp(entry, from: heap.count - 1)
    return .suspended
  }

  /// Cancels a sleep and returns its sleeper, or `nil` if its task is not suspended (any more).
  /// O(log n).
  mutating func cancel(_ token: Token) -> Sleeper? {
    let slot = Int(token.slot)
    guard slots[slot].number == token.number else { return nil }
    let position = positions[slot]
    if position == Position.reserved {
      positions[slot] = Position.cancelled
      return nil
    }
    guard position >= 0 else { return nil }
    return remove(at: Int(position))
  }

  /// Removes the sleep with the earliest deadline and returns its sleeper. O(log n).
  mutating func popEarliest() -> Sleeper {
    remove(at: 0)
  }

  /// The pending sleeps in the order in which they would wake. O(n log n).
  var pending: [Pending] {
    heap.sorted(by: Self.comesFirst).map(pending)
  }

  /// Removes the sleep with this number and returns its sleeper, if it is pending. O(n).
  mutating func remove(_ number: UInt64) -> Sleeper? {
    for position in 0..<heap.count where heap[position].number == number {
      return remove(at: position)
    }
    return nil
  }

  /// The sleep that is first, by its number, and its task. O(1).
  var earliest: (number: UInt64, task: UnownedTask?)? {
    heap.first.map { ($0.number, details[Int($0.slot)]?.task) }
  }

  /// The number of the sleep that was removed last, and the id of its task: those of the slot that was
  /// freed last. Right only directly after a removal. O(1).
  var removed: (number: UInt64, task: UInt64)? {
    freeSlots.last.map { (slots[Int($0)].number, details[Int($0)]?.taskID ?? 0) }
  }

  private func pending(_ entry: Entry) -> Pending {
    Pending(
      deadline: entry.deadline, number: entry.number, taskName: names[entry.slot],
      details: details[Int(entry.slot)].unsafelyUnwrapped)
  }

  // MARK: - Heap

  @inline(__always)
  private static func comesFirst(_ lhs: Entry, _ rhs: Entry) -> Bool {
    // The operators of `Duration` are calls into the standard library, its attoseconds a number.
    if Instant.self == Duration.self {
      let left = unsafeBitCast(lhs.deadline, to: Duration.self).attoseconds
      let right = unsafeBitCast(rhs.deadline, to: Duration.self).attoseconds
      return left < right || (left == right && lhs.number < rhs.number)
    }
    return lhs.deadline < rhs.deadline
      || (lhs.deadline == rhs.deadline && lhs.number < rhs.number)
  }

  private mutating func release(_ slot: Int32) {
    slots[Int(slot)].sleeper = nil
    positions[Int(slot)] = Position.free
    freeSlots.append(slot)
  }

  private mutating func remove(at position: Int) -> Sleeper {
    let slot = heap[position].slot
    let sleeper = slots[Int(slot)].sleeper.unsafelyUnwrapped
    release(slot)
    let last = heap.removeLast()
    if position < heap.count {
      if position > 0, Self.comesFirst(last, heap[(position - 1) >> 2]) {
        siftUp(last, from: position)
      } else {
        siftDown(last, from: position)
      }
    }
    return sleeper
  }

  /// Puts `entry` at `start` or above, where it belongs; what stands at `start` is overwritten.
  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var position = start
    while position > 0 {
      let parent = (position - 1) >> 2
      guard Self.comesFirst(entry, heap[parent]) else { break }
      place(heap[parent], at: position)
      position = parent
    }
    place(entry, at: position)
  }

  /// Puts `entry` at `start` or below, where it belongs; what stands at `start` is overwritten.
  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var position = start
    let count = heap.count
    while true {
      let firstChild = position << 2 + 1
      guard firstChild < count else { break }
      var child = firstChild
      var sibling = firstChild + 1
      let end = min(firstChild + 4, count)
      while sibling < end {
        if Self.comesFirst(heap[sibling], heap[child]) { child = sibling }
        sibling += 1
      }
      guard Self.comesFirst(heap[child], entry) else { break }
      place(heap[child], at: position)
      position = child
    }
    place(entry, at: position)
  }

  @inline(__always)
  private mutating func place(_ entry: Entry, at position: Int) {
    heap[position] = entry
    positions[Int(entry.slot)] = Int32(truncatingIfNeeded: position)
  }

  // MARK: - Invariants

  /// Stops the program if the heap or the table of positions is out of order. O(n); for tests.
  func checkInvariants() {
    for (position, entry) in heap.enumerated() {
      precondition(positions[Int(entry.slot)] == Int32(position), "a slot points elsewhere")
      precondition(slots[Int(entry.slot)].sleeper != nil, "an entry without a task")
      if position > 0 {
        precondition(!Self.comesFirst(entry, heap[(position - 1) >> 2]), "heap out of order")
      }
    }
    let inHeap = positions.count { $0 >= 0 }
    precondition(inHeap == heap.count, "a slot without an entry")
    let free = positions.count { $0 == Position.free }
    precondition(free == freeSlots.count, "a free slot is lost")
  }
}

// Not generic, because a debug build takes a hundred times as long for what is. Nothing is changed; but a debug
// build would make a copy of all, if it could not be.
extension SleepQueue where Instant == Duration {
  /// Whether there is a sleep. O(1).
  mutating func hasAny() -> Bool { heap.count > 0 }

  /// Whether a sleep's deadline is `instant` or earlier. O(1).
  mutating func isAnyDue(by instant: Duration) -> Bool {
    heap.count > 0 && heap[0].deadline.attoseconds <= instant.attoseconds
  }

  /// The sleeps whose deadline is `instant` or earlier, in the order in which they would wake. O(k²) with
  /// k of them, which are few: nothing below a later deadline is looked at.
  mutating func candidates(dueBy instant: Duration) -> ScratchBuffer<Candidate> {
    var candidates = ScratchBuffer<Candidate>()
    guard isAnyDue(by: instant) else { return candidates }
    // The positions of those that are due: none is below one that is not. Then they are sorted.
    var due = [0]
    var next = 0
    while next < due.count {
      let children = due[next] << 2 + 1
      for child in children..<children + 4
      where child < heap.count && heap[child].deadline.attoseconds <= instant.attoseconds {
        due.append(child)
      }
      next += 1
    }
    for index in 1..<due.count {
      var place = index
      while place > 0, Self.comesFirst(heap[due[place]], heap[due[place - 1]]) {
        due.swapAt(place, place - 1)
        place -= 1
      }
    }
    for index in 0..<due.count {
      let entry = heap[due[index]]
      let task = details[Int(entry.slot)].unsafelyUnwrapped.taskID
      candidates.append(.sleep(number: entry.number, task: task))
    }
    return candidates
  }
}
