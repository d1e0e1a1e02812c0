/// What went wrong in a scope of virtual time.
enum ScopeProblem: Sendable {
  /// Nothing could run for a while of real time, and time did not move. A line for each pending
  /// sleep is made when it is asked for.
  case stuck(after: Duration, pending: @Sendable () -> [String])
  /// Nothing can ever happen again, in a scope that is explored.
  case deadlock(pending: @Sendable () -> [String])
  /// The same as `stuck`, because an operation kept time from jumping.
  case held(after: Duration, pending: @Sendable () -> [String])
  /// The scope's jobs have run for longer than they may, in real time.
  case tooLong(Duration, pending: @Sendable () -> [String])
  /// The test never came to rest.
  case runaway(Runaway)

  /// A report for the test's author.
  ///
  /// - Parameter now: The scope's time.
  func description(at now: String) -> String {
    switch self {
    case .stuck(let duration, let pending):
      let pending = pending()
      return pending.isEmpty
        ? """
        withVirtualTime is stuck at \(now): for \(duration) of real time nothing could run, no sleep \
        was pending, and its operation was not finished. Either tasks wait for each other (a \
        deadlock), or they wait for work outside the scope: then put that into \
        `time.holding { … }`. The operation has been cancelled.
        """
        : """
        withVirtualTime is stuck at \(now): for \(duration) of real time nothing could run, and \
        nobody has moved time, which does not move by itself here. The operation has been \
        cancelled. Pending sleeps:
        \(pending.listed)
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
        A deadlock at \(now): nothing can run, the test is not finished, and nobody moves time, which \
        does not move by itself here. Pending sleeps:
        \(pending.listed)
        """
    case .held(let duration, let pending):
      return """
        withVirtualTime is stuck at \(now): for \(duration) of real time nothing could run, and \
        `holding` keeps time from jumping. If what it runs sleeps in virtual time, each of the two \
        waits for the other: put nothing but real work into it. The operation has been cancelled. \
        Pending sleeps:
        \(pending().listed)
        """
    case .tooLong(let limit, let pending):
      // The scope runs: perhaps nobody sleeps at this moment.
      let pending = pending()
      return """
        withVirtualTime gave up at \(now), because the test has run for \(limit) of real time. A \
        loop that waits for what never comes, or a heartbeat that nobody ends, goes on for ever in \
        virtual time: end it, wait for less, or allow more with `runningLimit:`. The operation has \
        been cancelled. Pending sleeps:\
        \(pending.isEmpty ? " none" : "\n" + pending.listed)
        """
    case .runaway(let reason):
      return """
        withVirtualTime gave up at \(now), because the test does not come to rest: \
        \(reason.description) The operation has been cancelled.
        """
    }
  }

  /// What is added if the operation does not end although it was cancelled.
  static let isOverdue = """
    It is still not over: it awaits something that does not hear of its cancellation, for example \
    the value of another task. So all tasks of it have been cancelled, too.
    """
}
