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
  /// A sleep that is not due, and may wake although a job is ready: the last candidate.
  case early(number: UInt64, task: UInt64)
  /// A sleep that is due now. `number` is that of its registration.
  case sleep(number: UInt64, task: UInt64)
}

/// Chooses what comes next. Called while the scheduler's lock is held, so it runs no user code.
protocol Chooser: AnyObject, Sendable {
  /// The index of the candidate that comes next, of two or more; one out of range stands for 0.
  /// It may be called again before the chosen candidate begins.
  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int

  /// How early a sleep may wake although a job is ready; `nil` if it may not.
  func stallLimit(of sleep: UInt64, task: UInt64) -> Duration?

  /// Whether `stallLimit` is to be asked.
  var mayStall: Bool { get }

  /// What a task gets in place of a random number; `nil` if it is to be random.
  ///
  /// - Parameter isNumber: Whether it is one number, and not a part of more bytes.
  func draw(for task: UInt64, isNumber: Bool) -> UInt64?

  /// The number of the option that a task gets, of `count`; 0 is what it gets outside a search.
  func choose(_ count: Int, for task: UInt64) -> Int

  /// Whether a fault strikes in the task.
  func faultStrikes(for task: UInt64) -> Bool

  /// Whether the run counts as endless: `newRunaway` will say why.
  var isRunaway: Bool { get }

  /// The name of the step that has begun last.
  var latestStep: String? { get }

  /// Whether `describe` is of use.
  var wantsDescriptions: Bool { get }

  /// Describes the latest choice or fault, for a report.
  func describe(_ text: String)

  /// What a task dump calls a task, in place of its number.
  func label(of task: UInt64, name: String?) -> String?

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
  func draw(for task: UInt64, isNumber: Bool) -> UInt64? { nil }
  func stallLimit(of sleep: UInt64, task: UInt64) -> Duration? { nil }
  var mayStall: Bool { false }
  func choose(_ count: Int, for task: UInt64) -> Int { 0 }
  func faultStrikes(for task: UInt64) -> Bool { false }
  var isRunaway: Bool { false }
  var latestStep: String? { nil }
  var wantsDescriptions: Bool { false }
  func describe(_ text: String) {}
  func label(of task: UInt64, name: String?) -> String? { nil }
  func taskWasCreated(_ task: UInt64) {}
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {}
  func jobBegins(_ job: ReadyJob, at position: Int) {}
  func newRunaway() -> Runaway? { nil }
  func sleepBegins(_ number: UInt64, of task: UInt64) {}
  func sleepWakes(_ number: UInt64, of task: UInt64) {}
  func asked(_ question: TaskOwner.NondeterminismSource) {}
}

extension JobQueue {
  /// Whether the rest of a job waits that occupies the main thread meanwhile. O(n).
  private var isMainThreadParked: Bool {
    for position in 0..<count where self[position].isParked && self[position].executor == .main {
      return true
    }
    return false
  }

  /// Every job of the pool, and the first of the main thread: the jobs of one actor run in their order. O(n).
  var candidates: ScratchBuffer<Candidate> {
    var candidates = ScratchBuffer<Candidate>()
    var isFirstOnMain = !isMainThreadParked
    for position in 0..<count {
      let job = self[position]
      if case .main = job.executor, !job.isParked {
        guard isFirstOnMain else { continue }
        isFirstOnMain = false
      }
      candidates.append(.job(position: position, task: job.taskID, executor: job.executor))
    }
    return candidates
  }
}
