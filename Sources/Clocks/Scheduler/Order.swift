import ClocksSupport

/// Decides which ready job runs, and which sleep that is due wakes, where the semantics leave it open.
///
/// Without a chooser: first in, first out, the order of `JobQueue` and of `SleepQueue.comesFirst`.
struct Order {
  /// Decides in place of first in, first out; `nil` nearly always.
  var chooser: (any Chooser)?
  /// How late a sleep may wake, if the chooser wants that.
  var slack = Duration.zero

  func first(among candidates: borrowing ScratchBuffer<Candidate>) -> Candidate? {
    guard candidates.count > 0 else { return nil }
    guard let chooser, candidates.count > 1 else { return candidates[0] }
    let index = chooser.choose(among: candidates)
    return candidates[index >= 0 && index < candidates.count ? index : 0]
  }
}

/// A ready job that may run next, or a sleep that is due now; listed first in, first out.
enum Candidate: Hashable, Sendable {
  /// A ready job. `position` is its place among all ready jobs.
  case job(position: Int, task: UInt64, executor: ExecutorKind)
  /// A sleep that is due now. `number` is that of its registration.
  case sleep(number: UInt64, task: UInt64)
}

/// Chooses what comes next. Called while the scheduler's lock is held, so it runs no user code.
protocol Chooser: AnyObject, Sendable {
  /// The index of the candidate that comes next, of two or more; one out of range stands for 0.
  /// It may be called again before the chosen candidate begins.
  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int

  /// What a task gets in place of a random number; `nil` if it is to be random.
  func draw(for task: UInt64) -> UInt64?

  // Events, from which a chooser knows the candidates.

  func taskWasCreated(_ task: UInt64)
  /// A job has become ready, behind all other ready jobs.
  ///
  /// - Parameter isFromOutside: Whether something outside the test has made it ready.
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool)
  func jobBegins(_ job: ReadyJob, at position: Int)
  /// Why the run counts as endless, if a limit has been passed since the last call.
  func newRunaway() -> Runaway?
  func sleepBegins(_ number: UInt64, of task: UInt64)
  func sleepWakes(_ number: UInt64, of task: UInt64)
  func asked(_ question: TaskOwner.NondeterminismSource)
}

extension Chooser {
  func draw(for task: UInt64) -> UInt64? { nil }
  func taskWasCreated(_ task: UInt64) {}
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {}
  func jobBegins(_ job: ReadyJob, at position: Int) {}
  func newRunaway() -> Runaway? { nil }
  func sleepBegins(_ number: UInt64, of task: UInt64) {}
  func sleepWakes(_ number: UInt64, of task: UInt64) {}
  func asked(_ question: TaskOwner.NondeterminismSource) {}
}

/// Jobs in the order in which they became ready: a ring buffer, because a debug build calls a generic
/// function for each use of an Array.
struct JobQueue: ~Copyable {
  /// The slots of jobs; as many as `capacity` says.
  private var slots: UnsafeMutablePointer<ReadyJob>?
  /// A power of two or zero, so that a position wraps with a mask.
  private var capacity = 0
  private var head = 0
  /// The number of jobs; they stand in as many consecutive slots, from `head` on.
  private(set) var count = 0

  deinit { slots?.deallocate() }

  var isEmpty: Bool { count == 0 }

  subscript(position: Int) -> ReadyJob {
    @_transparent get {
      precondition(position >= 0 && position < count)
      return slots![(head + position) & (capacity - 1)]
    }
  }

  /// The jobs that are tasks, in their order. O(n).
  var tasks: [UnownedJob] {
    var tasks: [UnownedJob] = []
    for position in 0..<count where self[position].taskID != 0 { tasks.append(self[position].job) }
    return tasks
  }

  /// Every job of the pool, and the first of the main thread: the jobs of one actor run in their order. O(n).
  var candidates: ScratchBuffer<Candidate> {
    var candidates = ScratchBuffer<Candidate>()
    var isFirstOnMain = true
    for position in 0..<count {
      let job = self[position]
      if case .main = job.executor {
        guard isFirstOnMain else { continue }
        isFirstOnMain = false
      }
      candidates.append(.job(position: position, task: job.taskID, executor: job.executor))
    }
    return candidates
  }

  @inline(__always)
  mutating func append(_ job: ReadyJob) {
    if count == capacity { grow() }
    slots![(head + count) & (capacity - 1)] = job
    count += 1
  }

  /// The other jobs keep their order. O(1) at position 0, else O(position).
  @inline(__always)
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
    return job
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<ReadyJob>.allocate(capacity: max(16, capacity * 2))
    for position in 0..<count { larger[position] = self[position] }
    slots?.deallocate()
    slots = larger
    capacity = max(16, capacity * 2)
    head = 0
  }

  /// Stops the program if the queue is out of order; for tests.
  func checkInvariants() {
    precondition(capacity & (capacity - 1) == 0, "a buffer that does not wrap")
    precondition(capacity == 0 ? head == 0 : 0..<capacity ~= head, "a lost beginning")
    precondition(0...capacity ~= count, "miscounted jobs")
    precondition((slots == nil) == (capacity == 0), "a buffer without slots")
  }
}
