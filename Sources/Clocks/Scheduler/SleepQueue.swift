import ClocksSupport

/// What the scheduler does at the deadline of an entry in a `SleepQueue`.
enum Sleeper: Sendable {
  /// Resumes the sleeping task. `isOwn` says whether the clock's scheduler owns the task.
  case continuation(UnsafeContinuation<Void, any Error>, isOwn: Bool)
  /// Runs the runtime's job that resumes the sleeping task.
  case job(ReadyJob)
  case work(TimedCallback)
}

/// The pending sleeps of one clock, ordered by deadline and then by registration.
///
/// The queue is a four-ary heap of small entries. A table with one slot for each sleep holds the position of the
/// sleep's entry, so that a cancelled sleep is found without a search. Adding, waking and cancelling cost O(log n).
/// Slots are reused, so memory is bounded by the largest number of sleeps that were pending together.
struct SleepQueue<Instant: Comparable & Sendable> {
  /// Identifies one sleep, even after the sleep has ended: slots are reused, numbers are not.
  struct Token: Sendable {
    fileprivate var slot: Int32
    fileprivate(set) var number: UInt64
  }

  struct Details {
    var registered: Instant
    /// The task that sleeps; valid while the sleep is pending.
    var task: UnownedTask?
    /// The task's id, for readers that may run after the task is over.
    var taskID: UInt64 = 0
    var clock: ClockKind
    var tolerance: Instant?
  }

  struct Pending {
    var deadline: Instant
    var number: UInt64
    var taskName: String?
    var details: Details
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

  /// The value in `positions` for a free slot.
  private static var free: Int32 { -1 }

  /// A heap: no entry comes before its parent, which is at `(position - 1) / 4`.
  private var heap: [Entry] = []
  /// For each slot, the position of its entry in `heap`, or `free`.
  ///
  /// Kept apart from `slots`, because each step in the heap writes a position, which should hit the cache.
  private var positions: [Int32] = []
  private var slots: [Slot] = []
  /// The details of each sleep, by slot; outdated for a free slot.
  ///
  /// Kept apart from `slots`, and not written when a sleep ends, because details are large and rarely read.
  private var details: [Details] = []
  /// The names of the tasks that have one, by slot; outdated for a free slot. Kept apart from `details`, so that
  /// these consist of plain words.
  private var names: [Int32: String] = [:]
  private var freeSlots: [Int32] = []
  private var nextNumber: UInt64 = 0

  var count: Int { heap.count }

  var earliestDeadline: Instant? { heap.first?.deadline }

  /// Reserves the number of a sleep that is added later, and returns the number.
  mutating func reserveNumber() -> UInt64 {
    nextNumber += 1
    return nextNumber - 1
  }

  /// Adds a sleep under the `reserved` number, or else under the next number. O(log n).
  @discardableResult
  mutating func add(
    _ sleeper: Sleeper, until deadline: Instant, name: String? = nil, details: Details,
    as reserved: UInt64? = nil
  ) -> Token {
    let number = reserved ?? reserveNumber()
    let slot: Int32
    if let free = freeSlots.popLast() {
      slot = free
      slots[Int(free)].number = number
      slots[Int(free)].sleeper = sleeper
      self.details[Int(free)] = details
    } else {
      slot = Int32(slots.count)
      slots.append(Slot(number: number, sleeper: sleeper))
      self.details.append(details)
      positions.append(Self.free)
    }
    if name != nil || !names.isEmpty { names[slot] = name }
    let entry = Entry(deadline: deadline, number: number, slot: slot)
    heap.append(entry)
    siftUp(entry, from: heap.count - 1)
    return Token(slot: slot, number: number)
  }

  /// Removes a sleep and returns its sleeper, or `nil` if the sleep has ended. O(log n).
  mutating func cancel(_ token: Token) -> Sleeper? {
    let position = positions[Int(token.slot)]
    guard slots[Int(token.slot)].number == token.number, position >= 0 else { return nil }
    return remove(at: Int(position))
  }

  mutating func popEarliest() -> Sleeper { remove(at: 0) }

  var pending: [Pending] {
    heap.sorted(by: Self.comesFirst).map(pending)
  }

  /// Removes the sleep with this number and returns its sleeper, if the sleep is pending. O(n).
  mutating func remove(_ number: UInt64) -> Sleeper? {
    heap.firstIndex { $0.number == number }.map { remove(at: $0) }
  }

  var earliest: (number: UInt64, task: UnownedTask?)? {
    heap.first.map { ($0.number, details[Int($0.slot)].task) }
  }

  /// The sleep with the earliest deadline. O(1).
  var first: Pending? { heap.first.map(pending) }

  private func pending(_ entry: Entry) -> Pending {
    Pending(
      deadline: entry.deadline, number: entry.number, taskName: names[entry.slot],
      details: details[Int(entry.slot)])
  }

  /// The number and the task of the sleep that was removed last: correct only directly after a removal. O(1).
  var removed: (number: UInt64, task: UInt64)? {
    freeSlots.last.map { (slots[Int($0)].number, details[Int($0)].taskID) }
  }

  @inline(__always)
  private static func comesFirst(_ lhs: Entry, _ rhs: Entry) -> Bool {
    // The operators of `Duration` are calls into the standard library. Attoseconds compare inline.
    if Instant.self == Duration.self {
      let left = unsafeBitCast(lhs.deadline, to: Duration.self).attoseconds
      let right = unsafeBitCast(rhs.deadline, to: Duration.self).attoseconds
      return left < right || (left == right && lhs.number < rhs.number)
    }
    return lhs.deadline < rhs.deadline
      || (lhs.deadline == rhs.deadline && lhs.number < rhs.number)
  }

  private mutating func remove(at position: Int) -> Sleeper {
    let slot = heap[position].slot
    let sleeper = slots[Int(slot)].sleeper.unsafelyUnwrapped
    slots[Int(slot)].sleeper = nil
    positions[Int(slot)] = Self.free
    freeSlots.append(slot)
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

  /// Places `entry` at `start` or above. Overwrites the entry at `start`.
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

  /// Places `entry` at `start` or below. Overwrites the entry at `start`.
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

  /// O(n); for tests.
  func checkInvariants() {
    for (position, entry) in heap.enumerated() {
      precondition(positions[Int(entry.slot)] == Int32(position), "a slot points elsewhere")
      precondition(slots[Int(entry.slot)].sleeper != nil, "an entry without a sleeper")
      if position > 0 {
        precondition(!Self.comesFirst(entry, heap[(position - 1) >> 2]), "heap out of order")
      }
    }
    precondition(positions.count { $0 >= 0 } == heap.count, "a slot without an entry")
    precondition(positions.count { $0 == Self.free } == freeSlots.count, "a free slot is lost")
  }
}

// These functions are not generic, because generic code is a hundred times as slow in a debug build. Those that
// change nothing are `mutating` as well, because a debug build copies the queue to call a nonmutating function.
extension SleepQueue where Instant == Duration {
  mutating func hasAny() -> Bool { heap.count > 0 }

  mutating func isAnyDue(by instant: Duration) -> Bool {
    heap.count > 0 && heap[0].deadline.attoseconds <= instant.attoseconds
  }

  /// Appends the sleeps whose deadline is `instant` or earlier, in wake order. O(k²) with k such sleeps.
  mutating func appendCandidates(
    dueBy instant: Duration, to candidates: inout ScratchBuffer<Candidate>
  ) {
    guard isAnyDue(by: instant) else { return }
    // Collects the positions of due entries from the root down, then sorts them by insertion.
    var due = ScratchBuffer<Int>()
    due.append(0)
    var next = 0
    while next < due.count {
      var child = due[next] << 2 + 1
      let end = min(child + 4, heap.count)
      while child < end {
        if heap[child].deadline.attoseconds <= instant.attoseconds { due.append(child) }
        child += 1
      }
      next += 1
    }
    for index in 1..<due.count {
      let position = due[index]
      var place = index
      while place > 0, Self.comesFirst(heap[position], heap[due[place - 1]]) {
        due[place] = due[place - 1]
        place -= 1
      }
      due[place] = position
    }
    for index in 0..<due.count {
      let entry = heap[due[index]]
      let task = details[Int(entry.slot)].taskID
      candidates.append(.sleep(number: entry.number, task: task))
    }
  }
}
