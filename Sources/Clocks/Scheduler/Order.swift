import ClocksSupport

/// Decides what comes first where the semantics of time leave it open: which of several ready jobs runs,
/// and which of several sleeps wakes that are due now.
///
/// A chooser decides, if there is one. Without one it is first in, first out: the order of `JobQueue`,
/// and for sleeps that of `SleepQueue.comesFirst`.
struct Order {
  /// Decides in place of first in, first out; `nil` nearly always.
  var chooser: (any Chooser)?
  /// How late a sleep may wake, if the chooser wants that.
  var slack = Duration.zero
}

/// Chooses what comes next.
///
/// It is asked while the scheduler's lock is held, so it runs no code of the user's.
protocol Chooser: AnyObject, Sendable {
  /// The index of the candidate that comes next. Asked if there are two or more; an index out of
  /// range stands for 0. It may be asked again before what it chose begins.
  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int

  // What it is told, so that it knows the candidates.

  /// A task has been made by the current one.
  func taskWasCreated(_ task: UInt64)
  /// A job stands last among the ready ones now.
  ///
  /// - Parameter isFromOutside: Whether something outside the test has made it ready.
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool)
  /// The ready job at this place is about to run.
  func jobBegins(_ job: ReadyJob, at position: Int)
  /// A task has begun to sleep.
  func sleepBegins(_ number: UInt64, of task: UInt64)
  /// A sleep wakes.
  func sleepWakes(_ number: UInt64, of task: UInt64)
  /// A task has asked for what nobody can make the same each time.
  func asked(_ question: TaskOwner.NondeterminismSource)

  /// What a task gets in place of chance; `nil` if chance decides.
  func draw(for task: UInt64) -> UInt64?
}

extension Chooser {
  func taskWasCreated(_ task: UInt64) {}
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool) {}
  func jobBegins(_ job: ReadyJob, at position: Int) {}
  func sleepBegins(_ number: UInt64, of task: UInt64) {}
  func sleepWakes(_ number: UInt64, of task: UInt64) {}
  func asked(_ question: TaskOwner.NondeterminismSource) {}
  func draw(for task: UInt64) -> UInt64? { nil }
}

/// Something that may come next.
///
/// The candidates are every ready job of the pool, the first one of the main actor, because jobs of
/// one actor run in the order in which they were enqueued, and every sleep that is due now. They
/// are listed in the order in which they would come by themselves.
enum Candidate: Hashable, Sendable {
  /// A ready job. `position` is its place among all ready jobs.
  case job(position: Int, task: UInt64, executor: ExecutorKind)
  /// A sleep that is due now. `number` is that of its registration.
  case sleep(number: UInt64, task: UInt64)
}

extension Order {
  /// The chooser's choice; what comes first by itself, if there is no choice.
  func first(among candidates: borrowing ScratchBuffer<Candidate>) -> Candidate? {
    guard candidates.count > 0 else { return nil }
    guard let chooser, candidates.count > 1 else { return candidates[0] }
    let index = chooser.choose(among: candidates)
    return candidates[index >= 0 && index < candidates.count ? index : 0]
  }
}

extension JobQueue {
  /// The ready jobs of which one may run next. O(n).
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
}
