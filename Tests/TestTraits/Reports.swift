/// What is said of tests that would hang, as `HangTests` and `TraitHangTests` provoke it.
package enum Reports {
  package static let tooLong = """
    withVirtualTime gave up at some time, because the test has run for more than 0.3 \
    seconds of real time. A loop \
    that waits for what never comes, or a heartbeat that no task ends, goes on forever in virtual time: end \
    it, wait for less, or allow more with `runningLimit:`. In a scope, time stands still while jobs run, so a \
    loop that waits for `Date()` or `ContinuousClock.now` must sleep. The operation has been cancelled. \
    Pending sleeps: some
    """

  package static let isOverdue = """

    It is still not over: it awaits something that does not react to cancellation, for example the value \
    of another task. So all its tasks have been cancelled, too.
    """

  package static let stuck = """
    withVirtualTime is stuck at 0.0 seconds: for 0.2 seconds of real time nothing could run, no sleep was \
    pending, and its operation was not finished. Its tasks wait for each other (a deadlock), or for a wake-up \
    that was lost (a continuation or a stream that no code resumes or finishes), or for work outside the \
    scope: put only the last into `time.holding { … }`. The operation has been cancelled.
    """

  /// - Parameter end: What happens if the test cannot end without the job.
  private static func blocked(_ end: String) -> String {
    """
    A job of task # has held its thread for more than 0.5 seconds of real time, and the rest of the \
    test waits for it. A test's tasks run one at a time, so a job that blocks its thread (by a \
    semaphore, a lock, a synchronous wait) until another task has run waits forever: await the other task \
    instead. Or the job runs a loop that never suspends. `while true { try? await clock.sleep(…) }` becomes \
    such a loop when its task is cancelled: write `try`. In a scope, time stands still while jobs run, so a \
    loop that waits for `Date()` or `ContinuousClock.now` must sleep. The test goes on without the job; if the \
    test cannot end without it, \(end)
    """
  }

  private static let pastTheSleeps = "\nIt is 3.0 seconds. Pending sleeps: none"

  package static let blocked = blocked("the process ends when no other test can run.")

  package static let blockedInScope = blocked + pastTheSleeps

  package static let blockedInTrait = blocked("the other tests continue.") + pastTheSleeps

  package static let neverIdles = """
    withVirtualTime expects that no task is left when its operation returns, but at 0.0 seconds task # still \
    runs: it yields in an endless loop.
    Await the task or cancel it before the operation returns.
    """

  package static let ignoresCancellation = """
    withVirtualTime has cancelled task #, which still ran when its operation returned, but the task does not \
    end: its loop does not check `Task.isCancelled`, or `try?` hides that its sleeps throw. Repair the loop. \
    The task stays suspended from now on.
    """

  package static let forgottenAdvance = """
    Nothing has happened in the test for 0.5 seconds of real time, tasks sleep on one of its clocks, and no \
    task advances it: call `await clock.advance(by:)`, before the test awaits the result; or \
    let time move by itself, with `withVirtualTime`.
    Pending sleeps:
      - until 1.0 seconds, since 0.0 seconds, task #, on TestClock
    They throw a CancellationError now, so that the test can end. That error may be reported next.
    """

  package static let shared = """
    is used by 2 test cases at the same time. Each moves it while tasks of the others still run, so the times \
    that they read are unpredictable. Make a clock in each test; one in a static or global variable is for \
    tests that run one after another (`@Suite(.serialized)`).
    """
}
