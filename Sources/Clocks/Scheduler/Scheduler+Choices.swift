import ClocksSupport

/// A thread that waits within a job, while other jobs of the scheduler run on another thread.
///
/// So a job is split in two without a suspension. The thread keeps its stack, its locks and its actor; the runtime
/// sees one job that takes long. No job of that actor begins meanwhile, because the actor is not idle.
///
/// In an abandoned run, the thread waits permanently, because no job of such a run continues. So does the thread of a
/// task that was stopped. Only the main thread is resumed, because other tests need it.
final class ParkedThread: Sendable {
  /// The `Idleness.threadNumber` of the thread while it runs jobs of the scheduler.
  let number: Int
  let isMain: Bool
  let isResumed = ThreadSemaphore()

  init(number: Int, isMain: Bool) { (self.number, self.isMain) = (number, isMain) }
}

extension Scheduler {
  /// Lets the chooser decide whether other jobs run before the rest of the current one.
  func checkpoint(_ name: String) {
    // A job that has paused, or that an executor of the user runs, does not run on the scheduler's thread.
    guard isExplored, isInOwnJob, let task = UnownedTask.current,
      let context = ThreadContext.current, context.pointee.isOfPump,
      context.pointee.ownersAwaitingEnd.isEmpty
    else { return }
    let job = ReadyJob(
      job: task.job, taskID: task.id, executor: RuntimeHooks.isOnMainQueue ? .main : .pool,
      isParked: true)
    var parked: ParkedThread?
    let mayDecide = changeWithoutThread { state in
      guard state.order.chooser != nil, !state.isAbandoned,
        context.pointee.number == state.idleness.threadNumber
      else { return false }
      if state.isStopped(job) {
        parked = state.newParkedThread(for: job)
      } else {
        state.makeReady(job)
        if !state.continuesParked(job) { parked = state.park(job) }
      }
      return true
    }
    guard mayDecide else { return }
    if let parked {
      // The scheduler needs another thread, because this one stays occupied.
      Self.jobBlocksThread()
      change { _ in }
      parked.isResumed.wait()
      ExtraThreads.changeBlocked(by: -1)
      threadMark.store(UInt(bitPattern: context), ordering: .relaxed)
      noteActingThread()
    }
    describeDecision { "checkpoint \"\(name)\"" }
  }

  /// Asks the chooser for a decision in the current task; `nil` if the current thread runs no job of an explored
  /// scope.
  func decide<Result>(_ ask: (any Chooser, UInt64) -> Result) -> Result? {
    guard isExplored, isInOwnJob, let task = UnownedTask.currentID else { return nil }
    return change { state in state.order.chooser.map { ask($0, task) } }
  }

  /// Notes the decision that `decide` just asked for, if a report or a recording needs it.
  ///
  /// The text is made without the lock, because `text` calls the user's code.
  func describeDecision(_ text: () -> String) {
    guard isInOwnJob else { return }
    let recorder = recorder
    let isWanted = isExplored && change { $0.order.chooser?.wantsDescriptions == true }
    guard recorder != nil || isWanted else { return }
    let text = text()
    recorder?.mark(text)
    if isWanted { change { $0.order.chooser?.describe(text) } }
  }

  /// Whether the current thread runs a job of this scheduler.
  ///
  /// Other jobs run at the same time only if this one is parallel, or runs on an executor of the user.
  var isInOwnJob: Bool {
    guard let context = ThreadContext.current else { return false }
    return context.pointee.isInJob && !context.pointee.isInCondition
      && context.pointee.runsJob(of: self)
  }
}

extension SchedulerState {
  /// Begins the rest of the current job if it comes next. Returns whether the thread continues with it.
  fileprivate mutating func continuesParked(_ job: ReadyJob) -> Bool {
    guard let chooser = order.chooser, !chooser.isRunaway else { return false }
    let position = idleness.ready.count - 1
    if position > 0 || mayOfferSleep {
      guard case .job(position, _, _) = firstCandidate() else { return false }
    }
    _ = idleness.ready.remove(at: position)
    chooser.jobBegins(job, at: position)
    return true
  }

  fileprivate mutating func park(_ job: ReadyJob) -> ParkedThread {
    let thread = newParkedThread(for: job)
    scope?.parkedThreads[job.taskID] = thread
    return thread
  }

  /// Ends the current job on its thread, which then waits. Only a thread in `parkedThreads` can be resumed.
  fileprivate mutating func newParkedThread(for job: ReadyJob) -> ParkedThread {
    endJob()
    return ParkedThread(number: idleness.threadParks(), isMain: job.executor == .main)
  }

  /// Whether the rest of a job must not run, because its task was stopped. Other tests need the main thread, so it
  /// continues.
  fileprivate func isStopped(_ job: ReadyJob) -> Bool {
    guard job.executor != .main, case .stopped = idleness.externalTasks.state(of: job.taskID) else {
      return false
    }
    return true
  }

  /// Lets a parked job continue. From then on its thread runs the test's jobs, and the current one no longer does.
  @inline(never)
  mutating func resume(_ job: ReadyJob) -> Action {
    guard let thread = scope?.parkedThreads.removeValue(forKey: job.taskID) else {
      preconditionFailure("A parked job has no thread.")
    }
    idleness.threadResumes(thread.number, isMain: thread.isMain)
    _ = start(job)
    return .resume(thread)
  }
}
