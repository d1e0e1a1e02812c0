import ClocksSupport

/// Decides which ready job runs, and which due sleep wakes, where the semantics leave the order open.
///
/// Without a chooser, the order is first in, first out: that of `JobQueue` and of `SleepQueue.comesFirst`.
struct Order {
  /// Chooses the order, which is otherwise first in, first out; `nil` nearly always.
  var chooser: (any Chooser)?
  /// The longest time after its deadline at which the chooser may let a sleep wake.
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
  /// A ready job. `position` is its index in the queue of ready jobs.
  case job(position: Int, task: UInt64, executor: ExecutorKind)
  /// A sleep that is not due, but may wake although a job is ready. It is always the last candidate.
  case early(number: UInt64, task: UInt64)
  /// A sleep that is due now. `number` is its registration number.
  case sleep(number: UInt64, task: UInt64)
}

/// Chooses what comes next. Its functions are called while the scheduler's lock is held, so they run no user code.
protocol Chooser: AnyObject, Sendable {
  /// Returns the index of the next candidate, of two or more; an index out of range stands for 0.
  ///
  /// This function may be called again before the chosen candidate begins.
  func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int

  /// The longest time before its deadline at which a sleep may wake although a job is ready; `nil` if it may not.
  func stallLimit(of sleep: UInt64, task: UInt64) -> Duration?

  /// Returns for how long time passes before a ready job begins, as if another job took so long; `nil` for no time.
  func stall(before position: Int) -> Duration?

  /// Whether `stallLimit` or `stall` may return a duration. If not, they are not called.
  var mayStall: Bool { get }

  /// Returns the value that replaces 8 random bytes for a task; `nil` if the bytes are to be random.
  ///
  /// - Parameter isNumber: Whether the task requested a single number, and not a longer sequence of bytes.
  func draw(for task: UInt64, isNumber: Bool) -> UInt64?

  /// Returns the number of the option that a task gets, of `count` options. Outside a search, a task gets option 0.
  func choose(_ count: Int, for task: UInt64) -> Int

  /// Whether a fault strikes in the task.
  func faultStrikes(for task: UInt64) -> Bool

  /// Whether the run counts as a runaway: `newRunaway` will return the reason.
  var isRunaway: Bool { get }

  /// The name of the step that began last.
  var latestStep: String? { get }

  /// Notes that an invariant fails after the latest step.
  func stepFails()

  /// Whether the chooser uses the texts that `describe` passes.
  var wantsDescriptions: Bool { get }

  /// Describes the latest choice or fault, for a report.
  func describe(_ text: String)

  /// Returns the name of a task in a task dump, in place of its number.
  func label(of task: UInt64, name: String?) -> String?

  // The chooser learns the candidates from the following events.

  func taskWasCreated(_ task: UInt64)
  /// A job became ready, behind all other ready jobs.
  ///
  /// - Parameter isFromOutside: Whether something outside the scope made the job ready.
  func jobIsReady(_ job: ReadyJob, isFromOutside: Bool)
  func jobBegins(_ job: ReadyJob, at position: Int)
  /// Returns why the run counts as a runaway, if a limit was passed since the last call.
  func newRunaway() -> Runaway?
  func sleepBegins(_ number: UInt64, of task: UInt64)
  /// Notes that a timed callback waits in the queue of sleeps, where its task is 0.
  func timedCallbackWaits(_ number: UInt64, _ name: String)
  func sleepWakes(_ number: UInt64, of task: UInt64)
  func asked(_ question: TaskOwner.NondeterminismSource)
}

extension JobQueue {
  /// Appends each job for the pool, but only the first for the main thread, because its jobs keep their order. O(n).
  func appendCandidates(to candidates: inout ScratchBuffer<Candidate>) {
    var isFirstOnMain = !isMainOccupied
    for position in 0..<count {
      let job = address(at: position)
      let executor = job.pointee.executor
      if case .main = executor, !job.pointee.isParked {
        guard isFirstOnMain else { continue }
        isFirstOnMain = false
      }
      candidates.append(.job(position: position, task: job.pointee.taskID, executor: executor))
    }
  }
}

// The candidates among which a chooser decides what comes next.
extension SchedulerState {
  /// Whether the candidates may include a sleep. O(1).
  var mayOfferSleep: Bool {
    if idleWaiters.isEmpty, let scope, !scope.virtualClock.isAnyDue {
      return order.chooser?.mayStall == true
    }
    return true
  }

  /// Returns the chooser's choice among the ready jobs and the sleeps that may come next; `nil` if there are none.
  mutating func firstCandidate() -> Candidate? {
    var candidates = ScratchBuffer<Candidate>()
    swap(&candidates, &keptCandidates)
    defer { swap(&candidates, &keptCandidates) }
    candidates.removeAll()
    idleness.ready.appendCandidates(to: &candidates)
    let jobs = candidates.count
    appendDueSleeps(to: &candidates)
    if candidates.count == jobs, let earlySleep {
      candidates.append(earlySleep)
    }
    let first = order.first(among: candidates)
    // The sleeps that are due after a stall are candidates, too.
    if case .job(let position, _, _) = first, stalls(before: position) { return firstCandidate() }
    return first
  }

  /// Lets time pass before a ready job begins, if the chooser wants a stall there. Returns whether time passed.
  private mutating func stalls(before position: Int) -> Bool {
    guard mayStall, let virtualClock = scope?.virtualClock,
      let length = order.chooser?.stall(before: position)
    else { return false }
    let before = isObserved ? virtualClock.time : nil
    virtualClock.move(to: virtualClock.instant(after: length))
    if isObserved { noteTime(since: before, on: virtualClock, hasWoken: false) }
    return true
  }

  /// Whether time may pass although a job is ready.
  private var mayStall: Bool {
    guard let chooser = order.chooser, chooser.mayStall, let scope else { return false }
    return mayJump(in: scope) && idleWaiters.isEmpty && !idleness.externalTasks.areOutstanding
      && idleness.dispatchedBlocks.count == 0
  }

  @_transparent
  func mayJump(in scope: ScopeState) -> Bool {
    scope.mayJump(beside: idleness.dispatchedBlocks.abandoned)
  }

  /// The sleep to which time may jump in a stall; `nil` if there is none.
  private var earlySleep: Candidate? {
    guard mayStall, let scope, let chooser = order.chooser,
      let sleep = scope.virtualClock.sleeps.first,
      let limit = chooser.stallLimit(of: sleep.number, task: sleep.details.taskID),
      sleep.deadline - scope.virtualClock.now <= limit
    else { return nil }
    return .early(number: sleep.number, task: sleep.details.taskID)
  }

  /// Appends the sleeps that are due now on the virtual clock that the next turn moves.
  private func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    // The usual case. It has to be fast, because this function is called for each job.
    if idleWaiters.isEmpty, let scope, !scope.virtualClock.isAnyDue { return }
    clockOfTurn?.appendDueSleeps(to: &candidates)
  }

  mutating func wakeDueSleep(_ number: UInt64, of task: UInt64) -> Action? {
    guard let sleeper = clockOfTurn?.sleeps.remove(number) else { return nil }
    sleepWoke(number, of: task)
    return wake(sleeper)
  }

  /// The virtual clock that the next turn moves.
  private var clockOfTurn: VirtualClock? {
    switch turn {
    case .waiter(let waiter): waiter.movedClock
    case .jump: scope!.virtualClock
    case .cancellation, nil: nil
    }
  }
}
