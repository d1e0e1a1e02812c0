import ClocksSupport

/// A scope whose body is a synchronous function on the main thread: a test method of XCTest.
///
/// A task of the scope stands for the body. While the function runs, the main thread counts as an externally
/// started job. While the main thread waits, that job is paused, so the scope's tasks run and time moves.
enum SynchronousBody {
  /// Runs `function`, and returns when the scope is over.
  static func run(in time: VirtualTime, _ function: () -> Void) {
    let (begun, over) = (ThreadSemaphore(), ThreadSemaphore())
    // A thread of the scope sets this before it signals `begun`. The main thread reads it only after that signal.
    nonisolated(unsafe) var end: UnsafeContinuation<Void, Never>?
    // Other code may have let all jobs run on the main thread, as `withMainSerialExecutor` does.
    let needsMain = JobHook.ofOtherCode != nil
    var context = ThreadContext(owner: time.scheduler)
    context.run { _ in
      Task { @Sendable @concurrent in
        await time.begin()
        await withUnsafeContinuation { continuation in
          end = continuation
          // The main thread's job is counted before this job ends, so that the scope is not idle in between.
          time.scheduler.jobBegins()
          if needsMain { signal(begun) } else { begun.signal() }
        }
        await time.end()
        signal(over)
      }
    }
    if needsMain { runLoop(until: begun) } else { begun.wait() }
    context = ThreadContext(owner: time.scheduler, isInJob: true)
    let waits = ThreadWaits(time.scheduler, .method)
    context.waits = waits
    context.run { _ in
      waits.begin()
      function()
      waits.jobEnds()
      waits.end()
    }
    end?.resume()
    time.scheduler.externallyStartedJobEnded(on: nil)
    runLoop(until: over)
  }

  /// Signals an event for which the main thread waits in `runLoop(until:)`.
  ///
  /// No block is submitted to the main queue: it would end a run of the run loop in this test, or in a later one.
  private static func signal(_ event: ThreadSemaphore) {
    event.signal()
    MainRunLoop.interrupt()
  }

  /// Waits in the run loop, because jobs of the scope may need the main thread.
  private static func runLoop(until event: ThreadSemaphore) {
    MainRunLoop.beginInterruptible()
    while !event.wait(seconds: 0) { MainRunLoop.run(seconds: 0.01) }
    MainRunLoop.endInterruptible()
  }
}

extension Scheduler: PausableOwner {
  var virtualNow: Duration { change { $0.scope?.virtualClock.now ?? .zero } }
  var pendingCount: Int { change { $0.scope?.virtualClock.sleeps.count ?? 0 } }

  var hasReadyWork: Bool {
    change { !$0.idleness.ready.isEmpty || $0.scope?.virtualClock.isAnyDue == true }
  }

  var pausedWaits: PausedWaits {
    guard let scope, isVirtual, scope.options.autoAdvance else { return .none }
    return scope.options.isUnedited ? .all : .ofXCTest
  }

  var hasAbandonedBlock: Bool { change { $0.idleness.dispatchedBlocks.abandoned > 0 } }

  func isOnMain(_ number: Int) -> Bool {
    change { state in
      // A thread with another number does not act. If a parallel job runs on it, that job says where it runs.
      number == state.idleness.threadNumber
        ? state.idleness.isActingOnMain : state.scope?.parallelJobs[number]?.isOnMain ?? false
    }
  }

  func pause(_ job: PausedJob, _ context: UnsafeMutablePointer<ThreadContext>?) {
    context?.pointee.ownersAwaitingEnd.append(self)
    ExtraThreads.changeBlocked(by: 1)
    change { state in
      if let number = context?.pointee.number {
        state.startedJobPauses(on: number)
      } else {
        state.externallyStartedJobEnded(isProgress: !job.isInRunLoop)
      }
      if job.task != 0 {
        state.scope?.pausedTasks.insert(job.task)
        state.idleness.externalTasks.setPaused(true, job.task)
      }
      if job.takesMain { state.idleness.isMainTaken = true }
    }
  }

  func resume(_ job: PausedJob) {
    ExtraThreads.changeBlocked(by: -1)
    change { state in
      state.idleness.externallyStartedJobsBegan(isOnMain: job.takesMain)
      state.scope?.pausedTasks.remove(job.task)
      if job.task != 0 { state.idleness.externalTasks.setPaused(false, job.task) }
      if job.takesMain { state.idleness.isMainTaken = false }
    }
  }

  func jobBegins() { change { $0.idleness.externallyStartedJobsBegan() } }
}
