import ClocksSupport

/// Runs `operation` as the public `withVirtualTime` does, and passes failures to `report`.
///
/// If the operation does not end after it was reported and cancelled, it is abandoned, and the function
/// returns.
package func withVirtualTimeUnlessStuck(
  autoAdvance: Bool, jumpsAfter: Duration?, leftoverSleeps: VirtualTime.LeftoverSleeps,
  stuckAfter: Duration, freezesDate: Bool, runningLimit: Duration,
  report: @escaping @Sendable (String) -> Void,
  operation: @escaping @Sendable (VirtualTime) async throws -> Void
) async throws {
  let options = ScopeOptions(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleepsFail: leftoverSleeps == .fail,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit)
  try await VirtualTime(options, at: CallSite(), record: report).runUnlessStuck(operation)
}

extension VirtualTime {
  fileprivate func runUnlessStuck(
    _ operation: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async throws {
    // The time of the outer scope does not jump while the inner one runs.
    let outer = VirtualTime.current
    outer?.scheduler.beginHold()
    defer { outer?.scheduler.endHold() }
    let end = RunEnd()
    scheduler.scope?.isLeft = { end.finish(isLeft: true) }
    let body: @Sendable () async -> Void = {
      await self.begin()
      do {
        try await operation(self)
      } catch {
        self.noteError()
        end.error = error
      }
      await end.stopIfLeft()
      await self.end()
      end.finish(isLeft: false)
    }
    await end.wait(for: body, in: scheduler)
    if let error = end.error { throw error }
  }
}

/// The end of a scope's body, which runs in a task of its own and is abandoned if it does not end.
final class RunEnd: @unchecked Sendable {
  // The operation's task writes `error` before it calls `finish`. The caller of `wait` reads it afterwards.
  nonisolated(unsafe) var error: (any Error)?
  nonisolated(unsafe) private var isLeft = false

  private let lock = Lock(.leaf)
  // Both guarded by the lock.
  nonisolated(unsafe) private var continuation: UnsafeContinuation<Void, Never>?
  nonisolated(unsafe) private var task: Task<Void, Never>?

  func finish(isLeft: Bool) {
    let continuation = lock.withLock {
      self.isLeft = isLeft
      defer { self.continuation = nil }
      return self.continuation
    }
    ThreadContext.keepingNextJob { continuation?.resume() }
  }

  /// Suspends the body permanently if it was abandoned: the call that began the scope has returned, so values
  /// that the body borrowed may have been freed.
  func stopIfLeft() async {
    guard lock.withLock({ isLeft }) else { return }
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  /// Runs the body as a task of the scheduler, and waits for `finish`.
  @concurrent
  func wait(
    for body: @escaping @Sendable @isolated(any) () async -> Void, in scheduler: Scheduler
  ) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        lock.withLock { self.continuation = continuation }
        // The first job of the body runs on the thread of this job, after this job.
        scheduler.waitForCurrentJob()
        // The scheduler owns tasks that are created in this context.
        var context = ThreadContext(owner: scheduler, taskID: UnownedTask.currentID ?? 0)
        context.run { _ in
          let task = Task(operation: body)
          lock.withLock { self.task = task }
        }
      }
    } onCancel: {
      lock.withLock { self.task }?.cancel()
    }
    let task = lock.withLock {
      defer { self.task = nil }
      return self.task
    }
    // Waits until the task has released everything, before the next run begins.
    if !isLeft { await task?.value }
  }
}
