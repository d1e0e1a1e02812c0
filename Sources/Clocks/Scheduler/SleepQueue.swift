import ClocksSupport

/// The pending sleeps of one clock, ordered by deadline and then by registration.
///
/// The queue is a four-ary heap of small entries. Each sleep has a slot, which holds the position of the sleep's
/// entry, so that a cancelled sleep is found without a search. Adding, waking and cancelling cost O(log n). Slots
/// are reused, so memory is bounded by the largest number of sleeps that were pending together.
///
/// The queue has buffers of its own, because a debug build calls a generic function for each use of an Array.
struct SleepQueue: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  /// Identifies one sleep, even after the sleep has ended: slots are reused, numbers are not.
  struct Token: Sendable {
    fileprivate var slot: Int32
    fileprivate(set) var number: UInt64
  }

  struct Details {
    var registered: Duration
    /// The task that sleeps; valid while the sleep is pending.
    var task: UnownedTask?
    /// The task's id, for readers that may run after the task is over.
    var taskID: UInt64 = 0
    var clock: ClockKind
  }

  struct Pending {
    var deadline: Duration
    var number: UInt64
    var taskName: String?
    var tolerance: Duration?
    var details: Details
  }

  private struct Entry {
    var deadline: Duration
    var number: UInt64
    var slot: Int32
  }

  /// Details that few sleeps have: a tolerance, or a task with a name.
  private struct Extra {
    var taskName: String?
    var tolerance: Duration?
  }

  /// A heap: no entry comes before its parent, which is at `(position - 1) / 4`. The first `count` of `capacity`.
  private var heap: UnsafeMutablePointer<Entry>
  /// For each slot, the position of its entry in `heap`. For a free slot, `-2 - next` with the next free slot.
  ///
  /// Kept apart from `sleepers`, because each step in the heap writes a position, which should hit the cache.
  private var positions: UnsafeMutablePointer<Int32>
  /// For each slot, its sleeper; `nil` if the slot is free. The first `slotCount` are initialized.
  private var sleepers: UnsafeMutablePointer<Sleeper?>
  /// The details of each sleep, by slot; outdated for a free slot.
  ///
  /// Kept apart from `sleepers`, and not written when a sleep ends, because details are large and rarely read.
  private var details: UnsafeMutablePointer<Details>
  private var capacity = 8
  private(set) var count = 0
  private var slotCount = 0
  /// The slot that was freed last; -1 if no slot is free.
  private var firstFree: Int32 = -1
  /// By slot; outdated for a free slot.
  private var extras: [Int32: Extra] = [:]
  private var hasExtras = false
  private var nextNumber: UInt64 = 0
  /// The number of the sleep that was removed last.
  private var lastRemoved: UInt64 = 0
  /// `nil` if instants are the standard library's durations since the clock's origin, and not keys.
  let custom: (any CustomDurations)?

  init(_ custom: (any CustomDurations)? = nil) {
    self.custom = custom
    heap = .grown(nil, toCapacity: capacity)
    positions = .grown(nil, toCapacity: capacity)
    sleepers = .grown(nil, toCapacity: capacity)
    details = .grown(nil, toCapacity: capacity)
  }

  deinit {
    sleepers.deinitialize(count: slotCount)
    free(heap)
    free(positions)
    free(sleepers)
    free(details)
  }

  var earliestDeadline: Duration? { @_transparent get { count > 0 ? heap[0].deadline : nil } }

  /// Whether a sleep is due at `instant`. O(1).
  @_transparent
  func isAnyDue(by instant: Duration) -> Bool {
    count > 0 && !isLater(heap[0].deadline, than: instant)
  }

  /// Reserves the number of a sleep that is added later, and returns the number.
  mutating func reserveNumber() -> UInt64 {
    nextNumber += 1
    return nextNumber - 1
  }

  /// Adds a sleep under the `reserved` number, or else under the next number. O(log n).
  @discardableResult
  mutating func add(
    _ sleeper: Sleeper, until deadline: Duration, name: String? = nil, tolerance: Duration? = nil,
    details: Details, as reserved: UInt64? = nil
  ) -> Token {
    let number = reserved ?? reserveNumber()
    let slot: Int32
    if firstFree >= 0 {
      slot = firstFree
      firstFree = -2 - positions[Int(slot)]
      sleepers[Int(slot)] = sleeper
    } else {
      if slotCount == capacity { grow() }
      slot = Int32(truncatingIfNeeded: slotCount)
      (sleepers + slotCount).initialize(to: sleeper)
      slotCount += 1
    }
    self.details[Int(slot)] = details
    // Patterns, because a debug build calls generic functions to compare with `nil`.
    var isExtra = hasExtras
    if case .some = name { isExtra = true }
    if case .some = tolerance { isExtra = true }
    if isExtra { add(name, tolerance, to: slot) }
    count += 1
    siftUp(Entry(deadline: deadline, number: number, slot: slot), from: count - 1)
    return Token(slot: slot, number: number)
  }

  private mutating func add(_ name: String?, _ tolerance: Duration?, to slot: Int32) {
    let isAny = name != nil || tolerance != nil
    extras[slot] = isAny ? Extra(taskName: name, tolerance: tolerance) : nil
    hasExtras = true
  }

  /// Removes a sleep and returns its sleeper, or `nil` if the sleep has ended. O(log n).
  mutating func cancel(_ token: Token) -> Sleeper? {
    let position = Int(positions[Int(token.slot)])
    guard position >= 0, heap[position].number == token.number else { return nil }
    return remove(at: position)
  }

  mutating func popEarliest() -> Sleeper { remove(at: 0) }

  /// The pending sleeps in wake order. O(n log n).
  var pending: [Pending] {
    UnsafeBufferPointer(start: heap, count: count).sorted { comesFirst($0, $1) }
      .map { pending($0) }
  }

  /// Removes the sleep with this number and returns its sleeper, if the sleep is pending. O(n).
  mutating func remove(_ number: UInt64) -> Sleeper? {
    var position = 0
    while position < count, heap[position].number != number { position += 1 }
    return position < count ? remove(at: position) : nil
  }

  /// Whether a delayed block of the test, or a timer on a queue, is pending. O(n).
  var hasDelayedBlock: Bool {
    (0..<count).contains { sleepers[Int(heap[$0].slot)]?.isDelayedBlock == true }
  }

  /// The sleep with the earliest deadline. O(1).
  var first: Pending? { count > 0 ? pending(heap[0]) : nil }

  private func pending(_ entry: Entry) -> Pending {
    let extra = extras[entry.slot]
    return Pending(
      deadline: entry.deadline, number: entry.number, taskName: extra?.taskName,
      tolerance: extra?.tolerance, details: details[Int(entry.slot)])
  }

  /// The number and the task of the sleep that was removed last: correct only directly after a removal. O(1).
  var removed: (number: UInt64, task: UInt64)? {
    guard firstFree >= 0 else { return nil }
    return (lastRemoved, details[Int(firstFree)].taskID)
  }

  /// Appends the sleeps whose deadline is `instant` or earlier, in wake order. O(k²) with k such sleeps.
  func appendCandidates(dueBy instant: Duration, to candidates: inout ScratchBuffer<Candidate>) {
    guard isAnyDue(by: instant) else { return }
    // Collects the positions of due entries from the root down, then sorts them by insertion.
    var due = ScratchBuffer<Int>()
    due.append(0)
    var next = 0
    while next < due.count {
      var child = due[next] * 4 + 1
      let end = min(child + 4, count)
      while child < end {
        if !isLater(heap[child].deadline, than: instant) { due.append(child) }
        child += 1
      }
      next += 1
    }
    for index in 1..<due.count {
      let position = due[index]
      var place = index
      while place > 0, comesFirst(heap[position], heap[due[place - 1]]) {
        due[place] = due[place - 1]
        place -= 1
      }
      due[place] = position
    }
    for index in 0..<due.count {
      let entry = heap[due[index]]
      candidates.append(.sleep(number: entry.number, task: details[Int(entry.slot)].taskID))
    }
  }

  /// Whether instant `a` is later than instant `b`.
  @_transparent
  func isLater(_ a: Duration, than b: Duration) -> Bool {
    if let custom { return custom.isLater(a, than: b) }
    // The operators of `Duration` are calls into the standard library. Attoseconds compare inline.
    return a.attoseconds > b.attoseconds
  }

  @_transparent
  private func comesFirst(_ lhs: Entry, _ rhs: Entry) -> Bool {
    if let custom, lhs.deadline != rhs.deadline {
      if custom.isLater(rhs.deadline, than: lhs.deadline) { return true }
      if custom.isLater(lhs.deadline, than: rhs.deadline) { return false }
      return lhs.number < rhs.number
    }
    let left = lhs.deadline.attoseconds
    let right = rhs.deadline.attoseconds
    return left < right || (left == right && lhs.number < rhs.number)
  }

  private mutating func remove(at position: Int) -> Sleeper {
    let slot = heap[position].slot
    lastRemoved = heap[position].number
    let sleeper = sleepers[Int(slot)].unsafelyUnwrapped
    sleepers[Int(slot)] = nil
    positions[Int(slot)] = -2 - firstFree
    firstFree = slot
    count -= 1
    if position < count {
      let last = heap[count]
      if position > 0, comesFirst(last, heap[(position - 1) / 4]) {
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
      let parent = (position - 1) / 4
      guard comesFirst(entry, heap[parent]) else { break }
      place(heap[parent], at: position)
      position = parent
    }
    place(entry, at: position)
  }

  /// Places `entry` at `start` or below. Overwrites the entry at `start`.
  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var position = start
    while true {
      let firstChild = position * 4 + 1
      guard firstChild < count else { break }
      var child = firstChild
      var sibling = firstChild + 1
      let end = min(firstChild + 4, count)
      while sibling < end {
        if comesFirst(heap[sibling], heap[child]) { child = sibling }
        sibling += 1
      }
      guard comesFirst(heap[child], entry) else { break }
      place(heap[child], at: position)
      position = child
    }
    place(entry, at: position)
  }

  @_transparent
  private func place(_ entry: Entry, at position: Int) {
    heap[position] = entry
    positions[Int(entry.slot)] = Int32(truncatingIfNeeded: position)
  }

  private mutating func grow() {
    capacity *= 2
    heap = .grown(heap, toCapacity: capacity)
    positions = .grown(positions, toCapacity: capacity)
    sleepers = .grown(sleepers, toCapacity: capacity)
    details = .grown(details, toCapacity: capacity)
  }

  /// O(n); for tests.
  func checkInvariants() {
    for position in 0..<count {
      let entry = heap[position]
      precondition(positions[Int(entry.slot)] == Int32(position), "a slot points elsewhere")
      precondition(sleepers[Int(entry.slot)] != nil, "an entry without a sleeper")
      if position > 0 {
        precondition(!comesFirst(entry, heap[(position - 1) / 4]), "heap out of order")
      }
    }
    precondition(
      (0..<slotCount).count { positions[$0] >= 0 } == count, "a slot without an entry")
    var free = firstFree
    var freeCount = 0
    while free >= 0 {
      precondition(sleepers[Int(free)] == nil, "a free slot with a sleeper")
      freeCount += 1
      free = -2 - positions[Int(free)]
    }
    precondition(freeCount == slotCount - count, "a free slot is lost")
  }
}
