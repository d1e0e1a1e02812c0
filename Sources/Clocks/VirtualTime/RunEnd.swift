import ClocksSupport

/// Runs `operation` as the public `withVirtualTime` does, and passes failures to `report`.
///
/// If the operation does not end after it was reported and cancelled, it is abandoned, and the function
/// returns.
package func withVirtualTimeUnlessStuck(
  _ options: ScopeOptions, at origin: CallSite, report: @escaping @Sendable (String) -> Void,
  operation: @escaping @Sendable (VirtualTime) async throws -> Void
) async throws {
  let time = VirtualTime(options, at: origin, record: report)
  if let error = await time.runUnlessStuck(operation) { throw error }
}

extension VirtualTime {
  /// Runs an operation in a new task of the scope, and abandons that task if it does not end. Returns its error.
  func runUnlessStuck(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: @escaping (VirtualTime) async throws -> Void
  ) async -> (any Error)? {
    // The time of an outer scope does not jump meanwhile.
    let outer = VirtualTime.current
    outer?.scheduler.beginHold()
    defer { outer?.scheduler.endHold() }
    let end = RunEnd()
    scheduler.scope?.whenAbandoned = { end.finish(isAbandoned: true) }
    nonisolated(unsafe) let operation = operation
    let body: @isolated(any) () async -> Void = {
      _ = isolation
      await self.begin()
      do {
        try await operation(self)
      } catch {
        // The exploration itself reports the failures of an explored scope.
        if self.scheduler.scope?.options.isExplored == false { self.noteError() }
        end.note(error)
      }
      await end.stopIfAbandoned()
      await self.end()
      end.finish(isAbandoned: false)
    }
    // The current task is suspended until the body ends, so only one task at a time uses the operation.
    let sendable = unsafeBitCast(body, to: (@Sendable @isolated(any) () async -> Void).self)
    await end.wait(for: sendable, in: scheduler)
    return end.knownError
  }
}

/// The end of a scope's body, which runs in a task of its own and is abandoned if it does not end.
final class RunEnd: @unchecked Sendable {
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  private var error: (any Error)?
  private var isAbandoned = false
  private var continuation: UnsafeContinuation<Void, Never>?
  private var task: Task<Void, Never>?
  private var isCancelled = false

  /// The error of the operation; `nil` if it threw none, or was abandoned before it threw one.
  var knownError: (any Error)? { lock.withLock { error } }

  /// Notes the error of the operation, unless it was abandoned.
  ///
  /// Thread A runs a job of the operation that has held its thread for long. Thread B abandons the operation, and then
  /// the caller reads the error. Meanwhile thread A continues, and the operation throws.
  func note(_ error: any Error) {
    lock.withLock { if !isAbandoned { self.error = error } }
  }

  func finish(isAbandoned: Bool) {
    let continuation = lock.withLock {
      self.isAbandoned = isAbandoned
      return self.continuation.take()
    }
    guard let continuation else { return }
    // In a search within an explored test, each suspension of the caller is a step. The caller suspends again if the
    // task is not over when it continues, and that must not depend on which thread is faster. So the caller continues
    // when the task is over. But if an actor runs the end of the body, the caller continues immediately.
    if isAbandoned { continuation.resume() } else { ThreadContext.resumeAfterJob(continuation) }
  }

  /// Suspends the body permanently if it was abandoned: the call that began the scope has returned, so values
  /// that the body borrowed may have been freed.
  func stopIfAbandoned() async {
    guard lock.withLock({ isAbandoned }) else { return }
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
          let isCancelled = lock.withLock {
            self.task = task
            return self.isCancelled
          }
          if isCancelled { task.cancel() }
        }
      }
    } onCancel: {
      // If the caller is cancelled already, there is no task yet.
      let task = lock.withLock {
        isCancelled = true
        return self.task
      }
      task?.cancel()
    }
    // The task is released without the lock.
    let (task, isAbandoned) = lock.withLock { (self.task.take(), self.isAbandoned) }
    // Waits until the task releases everything, before the next run begins.
    if !isAbandoned { await task?.value }
  }
}
