import ClocksSupport

/// Decides what comes first where the semantics of time leave it open: which of several ready jobs runs,
/// and which of several sleeps wakes that are due now.
///
/// Without a chooser it is first in, first out: the order of `JobQueue`, and for sleeps that of
/// `SleepQueue.comesFirst`.
struct Order {
  /// Decides in place of first in, first out; `nil` nearly always.
  var chooser: (any Chooser)?
  /// How late a sleep may wake, if the chooser wants that.
  var slack = Duration.zero

  /// The chooser's choice; the first candidate, if there is no choice.
  func first(among candidates: borrowing ScratchBuffer<Candidate>) -> Candidate? {
    guard candidates.count > 0 else { return nil }
    guard let chooser, candidates.count > 1 else { return candidates[0] }
    let index = chooser.choose(among: candidates)
    return candidates[index >= 0 && index < candidates.count ? index : 0]
  }
}

/// A job or a sleep that may come next.
///
/// The candidates are the ready jobs of which one may run next, and every sleep that is due now. They are
/// listed in the order of first in, first out.
enum Candidate: Hashable, Sendable {
  /// A ready job. `position` is its place among all ready jobs.
  case job(position: Int, task: UInt64, executor: ExecutorKind)
  /// A sleep that is due now. `number` is that of its registration.
  case sleep(number: UInt64, task: UInt64)
}

/// Chooses what comes next.
///
/// Its functions are called while the scheduler's lock is held, so it runs no code of the user's.
protocol Chooser: AnyObject, Sendable {
  /// The index of the candidate that comes next. Called if there are two or more; an index out of
  /// range stands for 0. It may be called again before the chosen candidate begins.
  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int

  /// What a task gets in place of a random number; `nil` if it is to be random.
  func draw(for task: UInt64) -> UInt64?

  // Events, by which it knows the candidates.

  /// The current task has created a task.
  func taskWasCreated(_ task: UInt64)
  /// A job stands last among the ready jobs now.
  ///
  /// - Parameter isFromOutside: Whether something outside the test has made it ready.
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool)
  /// The ready job at a position is about to run.
  func jobBegins(_ job: ReadyJob, at position: Int)
  func sleepBegins(_ number: UInt64, of task: UInt64)
  func sleepWakes(_ number: UInt64, of task: UInt64)
  /// A task has used a source of nondeterminism.
  func asked(_ question: TaskOwner.NondeterminismSource)
}

extension Chooser {
  func draw(for task: UInt64) -> UInt64? { nil }
  func taskWasCreated(_ task: UInt64) {}
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {}
  func jobBegins(_ job: ReadyJob, at position: Int) {}
  func sleepBegins(_ number: UInt64, of task: UInt64) {}
  func sleepWakes(_ number: UInt64, of task: UInt64) {}
  func asked(_ question: TaskOwner.NondeterminismSource) {}
}
