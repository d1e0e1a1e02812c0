import ClocksSupport

/// Jobs in the order in which they became ready: a ring buffer, because a debug build calls a generic
/// function for each use of an Array.
struct JobQueue: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  private var slots: UnsafeMutablePointer<ReadyJob>?
  /// A power of two or zero, so that a position wraps with a mask.
  private var capacity = 0
  /// The capacity up to which an empty queue keeps its memory.
  @_transparent
  private static var keptCapacity: Int { 4096 }
  private var head = 0
  /// The number of jobs, which are in consecutive slots, from `head` on.
  private(set) var count = 0
  /// The number of parked jobs for the main thread.
  private var parkedOnMain = 0
  /// The number of jobs for the main thread that are not parked.
  private(set) var onMain = 0

  /// Whether a paused, parallel or abandoned job holds the main thread.
  var isMainTaken = false { didSet { withholdsMain = isMainTaken || areBlocksAhead } }
  /// Whether blocks that were submitted to the main queue earlier come first.
  var areBlocksAhead = false { didSet { withholdsMain = isMainTaken || areBlocksAhead } }
  /// Whether jobs for the main thread cannot begin, because `isMainTaken` or `areBlocksAhead`.
  private(set) var withholdsMain = false

  deinit { free(slots) }

  /// Whether another job or a block holds the main thread. Then only a parked job can continue on that thread.
  var isMainOccupied: Bool { withholdsMain || parkedOnMain > 0 }

  /// Whether no job can begin.
  var isEmpty: Bool { withholdsMain ? !isAnyOffMain : count == 0 }

  /// Whether a job can begin on another thread than the main thread.
  var isAnyOffMain: Bool { count > onMain }

  /// The position of the first job that can begin. Requires that there is one. O(withheld jobs).
  var first: Int {
    var position = 0
    while isWithheld(position) { position += 1 }
    return position
  }

  func isWithheld(_ position: Int) -> Bool {
    isMainOccupied && self[position].executor == .main && !self[position].isParked
  }

  /// The tasks that cannot begin, because another job or a block has the main thread.
  var withheldTasks: [UInt64] {
    withholdsMain ? (0..<count).filter { isWithheld($0) }.map { self[$0].taskID } : []
  }

  subscript(position: Int) -> ReadyJob {
    @_transparent get {
      precondition(position >= 0 && position < count)
      return slots![(head + position) & (capacity - 1)]
    }
  }

  /// The address of a job, valid until a job is appended or removed. Unlike a copy it copies nothing.
  @_transparent
  func address(at position: Int) -> UnsafePointer<ReadyJob> {
    precondition(position >= 0 && position < count)
    return UnsafePointer(slots! + ((head + position) & (capacity - 1)))
  }

  /// The jobs that are tasks and have not begun, in their order. O(n).
  var tasks: [UnownedJob] {
    (0..<count).map { self[$0] }.filter { $0.taskID != 0 && !$0.isParked }.map(\.job)
  }

  @_transparent
  mutating func append(_ job: ReadyJob) {
    if count == capacity { grow() }
    slots![(head + count) & (capacity - 1)] = job
    count += 1
    note(job, 1)
  }

  /// Inserts a job at the front. Amortized O(1).
  mutating func prepend(_ job: ReadyJob) {
    if count == capacity { grow() }
    head = (head - 1) & (capacity - 1)
    slots![head] = job
    count += 1
    note(job, 1)
  }

  /// Removes a job; the others keep their order. O(1) at position 0, else O(position).
  @_transparent
  mutating func remove(at position: Int) -> ReadyJob {
    let mask = capacity - 1
    let job = self[position]
    guard let slots else { return job }
    var hole = position
    while hole > 0 {
      slots[(head + hole) & mask] = slots[(head + hole - 1) & mask]
      hole -= 1
    }
    head = (head + 1) & mask
    count -= 1
    note(job, -1)
    if count == 0, capacity > Self.keptCapacity { shrink() }
    return job
  }

  @_transparent
  private mutating func note(_ job: ReadyJob, _ change: Int) {
    guard case .main = job.executor else { return }
    if job.isParked { parkedOnMain += change } else { onMain += change }
  }

  private mutating func grow() {
    let old = capacity
    capacity = max(16, capacity * 2)
    let larger = UnsafeMutablePointer.grown(slots, toCapacity: capacity)
    // Moves the jobs that wrapped around behind the others.
    (larger + old).update(from: larger, count: head)
    slots = larger
  }

  /// Frees the memory of many jobs, which may have become ready together only once.
  private mutating func shrink() {
    free(slots)
    (slots, capacity, head) = (nil, 0, 0)
  }

  /// Stops the program if a count or a position is wrong; for tests.
  func checkInvariants() {
    precondition(capacity & (capacity - 1) == 0, "a buffer that does not wrap")
    precondition(capacity == 0 ? head == 0 : 0..<capacity ~= head, "a lost beginning")
    precondition(0...capacity ~= count, "miscounted jobs")
    precondition(
      parkedOnMain == (0..<count).count { self[$0].isParked && self[$0].executor == .main },
      "miscounted parked jobs on the main thread")
    precondition(
      onMain == (0..<count).count { self[$0].executor == .main && !self[$0].isParked },
      "miscounted jobs for the main thread")
    precondition((slots == nil) == (capacity == 0), "a buffer without slots")
  }
}
