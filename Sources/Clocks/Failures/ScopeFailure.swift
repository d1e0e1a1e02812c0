/// A problem in a scope of virtual time.
enum ScopeProblem: Sendable {
  /// Nothing could run, and time did not move, for some real time. `pending` is called without a lock.
  case stuck(after: IdlePeriod, pending: @Sendable () -> [String])
  /// Nothing can ever happen again, in an explored scope.
  case deadlock(pending: @Sendable () -> [String])
  /// The scope is stuck while `holding` keeps time from jumping.
  case held(after: IdlePeriod, pending: @Sendable () -> [String])
  /// The scope's jobs have run for longer than allowed, in real time.
  case tooLong(Duration, pending: @Sendable () -> [String])
  case runaway(Runaway)

  /// Returns the text of the failure.
  ///
  /// - Parameters:
  ///   - hasReadyTask: Whether a task was ready again when the tasks were inspected.
  ///   - isUnedited: Whether the suite is unedited.
  func description(
    at now: String, hasReadyTask: Bool = false, isUnedited: Bool = false
  ) -> String {
    switch self {
    case .stuck(let period, _) where isUnedited:
      return """
        The test is stuck at \(now) of virtual time: for \(period) nothing could run, no sleep \
        was pending, and the test was not finished. Either its tasks wait for each other, or for a wake-up \
        that was lost, or they wait for work that is not seen: then run the test in real time, with \
        `--real`. The test has been cancelled.
        """
    case .tooLong(let limit, let pending) where isUnedited:
      let pending = pending()
      return """
        The test has run for more than \(limit) of real time, and it is \(now) of virtual time. A loop that \
        waits for what never comes, or a heartbeat that no task ends, goes on forever in virtual time. To run \
        the test in real time, use `--real`. The test has been cancelled. Pending sleeps:\
        \(pending.listedBelow)
        """
    case .deadlock where hasReadyTask:
      return """
        A deadlock at \(now), unless work outside the test ends it: nothing of the test could run and the test \
        is not finished, but then a thread, a queue or another test has made a task ready. A search does not \
        wait for such work: put it into `time.holding { … }`.
        """
    case .stuck(let period, let pending):
      let pending = pending()
      return pending.isEmpty
        ? """
        withVirtualTime is stuck at \(now): for \(period) nothing could run, no sleep \
        was pending, and its operation was not finished. Its tasks wait for each other (a deadlock), or for a \
        wake-up that was lost (a continuation or a stream that no code resumes or finishes), or for work \
        outside the scope: put only the last into `time.holding { … }`. The operation has been cancelled.
        """
        : """
        withVirtualTime is stuck at \(now): for \(period) nothing could run, and \
        no task has moved time. With `autoAdvance: false`, time does not move by itself: call \
        `time.advance(by:)`, or leave the option out. The operation has been cancelled. Pending sleeps:\
        \(pending.listedBelow)
        """
    case .deadlock(let pending):
      let pending = pending()
      return pending.isEmpty
        ? """
        A deadlock at \(now): nothing can run, no sleep is pending, and the test is not finished. Its \
        tasks wait for each other, or for a wake-up that was lost. (If they wait for work outside the \
        test, put that into `time.holding { … }`.)
        """
        : """
        A deadlock at \(now): nothing can run, the test is not finished, and no task moves time. With \
        `autoAdvance: false`, time does not move by itself: call `time.advance(by:)`, or leave the option \
        out. Pending sleeps:\
        \(pending.listedBelow)
        """
    case .held(let period, let pending):
      return """
        withVirtualTime is stuck at \(now): for \(period) nothing could run, and \
        `holding` keeps time from jumping. If the code in `holding` sleeps in virtual time, the sleep and \
        `holding` wait for each other: put only real work into it. The operation has been cancelled. \
        Pending sleeps:\(pending().listedBelow)
        """
    case .tooLong(let limit, let pending):
      let pending = pending()
      return """
        withVirtualTime gave up at \(now), because the test has run for more than \(limit) of real \
        time. A loop that waits for what never comes, or a heartbeat that no task ends, goes on forever in \
        virtual time: end it, wait for less, or allow more with `runningLimit:`. \
        \(Runaway.loopWithoutSleep) The operation has been cancelled. Pending sleeps:\
        \(pending.listedBelow)
        """
    case .runaway(.wakes(let count)):
      return """
        withVirtualTime gave up at \(now), because the test does not become idle: \(count) sleeps have \
        woken. A task sleeps in an endless loop: cancel it. If that loop is meant to go on, the test waits for \
        something that never comes: look for it among the other tasks. The operation has been cancelled.
        """
    case .runaway(let reason):
      return """
        withVirtualTime gave up at \(now), because the test does not become idle: \
        \(reason.description) The operation has been cancelled.
        """
    }
  }

  /// Added to the description if a task sleeps on the clock of the scope around this one.
  static let sleepsOutside = """
    A task sleeps on the clock of the scope around this one, which stands still until this scope has ended. Let it \
    sleep in this scope's time.
    """

  /// Added to the description if the operation does not end although it was cancelled.
  static let isOverdue = """
    It is still not over: it awaits something that does not react to cancellation, for example \
    the value of another task. So all its tasks have been cancelled, too.
    """
}

/// The real time for which nothing has happened in a test.
struct IdlePeriod: Sendable, CustomStringConvertible {
  /// The limit that was reached. Time in which the machine, or another test, was busy counts only in part.
  var limit: Duration
  /// The real time that has passed, in nanoseconds.
  var nanoseconds: UInt64

  /// For example `5.0 seconds of real time`. If far more time than the limit has passed,
  /// `81.4 seconds of real time (the limit is 5.0 seconds)`.
  var description: String {
    let tenths = Duration.milliseconds(Int64(clamping: nanoseconds / 100_000_000 * 100))
    guard tenths >= limit * 2, tenths - limit >= .seconds(5) else { return "\(limit) of real time" }
    return "\(tenths) of real time (the limit is \(limit))"
  }
}

/// Why a test counts as one that never becomes idle.
enum Runaway: Sendable {
  case jobs(Int, task: UInt64)
  case wakes(Int)
  /// The number of steps of an explored run, and the largest number in earlier runs; `nil` if none has ended.
  case steps(Int, most: Int?)
  /// Work outside the scheduler goes on although the body of the scope has returned.
  case endlessWork

  /// Said of a loop that waits for an instant without sleeping.
  static let loopWithoutSleep = """
    In a scope, time stands still while jobs run, so a loop that waits for `Date()` or `ContinuousClock.now` \
    must sleep.
    """

  var description: String {
    switch self {
    case .jobs(let count, let task):
      """
      \(count) jobs have run without time moving, the last one of \
      \(task == 0 ? "an actor's queue" : "task #\(task)"). A task that yields in an endless loop \
      never becomes idle: let it sleep, or cancel it. \(Self.loopWithoutSleep) If it was cancelled, its \
      sleeps throw, and `try?` hides that: write `try`, or `while !Task.isCancelled`.
      """
    case .wakes(let count):
      """
      \(count) sleeps have woken. A task that sleeps in an endless loop never ends by itself: \
      cancel it, or advance by less.
      """
    case .steps(let count, let most):
      """
      \(count) steps have run in this order\(most.map { ", but at most \($0) in those before" } ?? ""). A \
      loop that waits for what never comes, or a heartbeat that no task ends, goes on forever in virtual \
      time: end it, or wait for less.
      """
    case .endlessWork:
      """
      the scope's operation has returned, but work on queues or executors goes on. End that work before the \
      operation returns.
      """
    }
  }
}

/// Failures about tasks that a scope leaves behind when it ends.
enum LeftoverFailure {
  static func asleep(now: String, pending: [String]) -> String {
    """
    withVirtualTime expects that no task sleeps any more when its operation returns, but at \(now) \
    there \(count(pending)) pending:
    \(pending.listed)
    Await those tasks or cancel them before the operation returns.
    """
  }

  static func neverIdles(_ task: UInt64, now: String) -> String {
    """
    withVirtualTime expects that no task is left when its operation returns, but at \(now) task \
    #\(task) still runs: it yields in an endless loop.
    Await the task or cancel it before the operation returns.
    """
  }

  static func endlessWork(_ work: Absence) -> String {
    let names = work.tasks.map { "task #\($0)" } + Set(work.queues).sorted().map { "\"\($0)\"" }
    return """
      withVirtualTime expects that no work is left when its operation returns, but work still goes on: \
      \(names.joined(separator: ", ")).
      End the work before the operation returns. From now on the test does not wait for it.
      """
  }

  static func ignoresCancellation(_ task: UInt64) -> String {
    """
    withVirtualTime has cancelled task #\(task), which still ran when its operation returned, but the task does \
    not end: its loop does not check `Task.isCancelled`, or `try?` hides that its sleeps throw. Repair the \
    loop. The task stays suspended from now on.
    """
  }

  static func endless(pending: [String]) -> String {
    """
    withVirtualTime has cancelled the tasks that still slept when its operation returned, a hundred \
    times, but there \(count(pending)) pending again:
    \(pending.listed)
    A task that sleeps on after its cancellation never ends: let it throw the CancellationError.
    """
  }

  private static func count(_ pending: [String]) -> String {
    pending.count == 1 ? "is 1 sleep" : "are \(pending.count) sleeps"
  }
}

/// Notes in failures of a scope.
enum ScopeNote {
  /// Time jumped while a task waited for work outside the scope.
  static func skippedWait(_ task: String, slept jump: Duration, to end: Duration) -> String {
    """
    Time jumped \(jump), to \(end), while \(task) waited for work outside the scope, a socket or a \
    thread: nothing of the test could run. Put that work into `time.holding { … }`.
    """
  }

  /// Time jumped while one of these tasks may have waited for work outside the scope.
  static func possiblySkippedWait(_ tasks: [String], slept jump: Duration, to end: Duration)
    -> String
  {
    let shown = tasks.count > 3 ? tasks.prefix(3) + ["\(tasks.count - 3) more"] : tasks[...]
    return """
      Time jumped \(jump), to \(end), because nothing of the test could run. If it waited for real \
      work, a socket or a thread, put that into `time.holding { … }`. These tasks have waited for a \
      continuation since before the jump: \(shown.joined(separator: ", ")).
      """
  }

  static func dueSleeps(_ sleeps: [String]) -> String {
    """
    \(sleeps.count == 1 ? "1 sleep ends" : "\(sleeps.count) sleeps end") at this very instant, and \
    \(sleeps.count == 1 ? "has" : "have") not woken yet:
    \(sleeps.listed)
    Sleeps that end at one instant wake in the order in which they began. If the test slept until now, write \
    `await time.advance(by:)` in place of its sleep: it returns when all of them have woken and the test is idle.
    """
  }
}
