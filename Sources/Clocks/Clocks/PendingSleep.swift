extension TestClock {
  /// A sleep on a ``TestClock`` that has neither woken nor been cancelled.
  public struct PendingSleep: Sendable, Hashable, CustomStringConvertible {
    /// When it wakes.
    public let deadline: Instant
    /// The tolerance that its caller allowed; it has no influence.
    public let tolerance: Duration?
    /// The clock's time when the sleep was registered.
    public let registered: Instant
    /// The name of the task that sleeps, if it was given one; or what it is that waits, for example
    /// `queue "cache"`, if it is no task but work that was handed to Dispatch in a scope of virtual
    /// time, to begin later.
    public let taskName: String?
    /// The number that the Swift runtime gave to the task that sleeps; 0 if no task does.
    public let taskID: UInt64
    /// The number of the sleep: the clock's first one is 0, the next one 1, and so on.
    public let number: Int

    init(_ pending: VirtualClock<Duration>.Sleeps.Pending) {
      let details = pending.details
      deadline = Instant(offset: pending.deadline)
      tolerance = details.tolerance
      registered = Instant(offset: details.registered)
      taskName = pending.taskName
      taskID = details.taskID
      number = Int(pending.number)
    }

    /// For example `until 3.0 seconds, since 1.0 seconds, task "poll" (#42)`.
    public var description: String {
      if taskID == 0, let taskName {
        return "until \(deadline), since \(registered), \(taskName)"
      }
      let task = taskName.map { "task \"\($0)\" (#\(taskID))" } ?? "task #\(taskID)"
      return "until \(deadline), since \(registered), \(task)"
    }
  }

  /// The sleeps that have neither woken nor been cancelled, in the order in which they would wake.
  ///
  /// A task that is ready but has not run yet may be about to add one: ``settle(fileID:filePath:line:column:)`` first. O(n log
  /// n) with n sleeps.
  public var pendingSleeps: [PendingSleep] {
    let details = scheduler.change { _ in virtualClock.sleeps }.pending
    return details.map(PendingSleep.init)
  }
}

extension TestClock.Instant: CustomStringConvertible {
  /// The distance from the origin, for example `3.0 seconds`.
  public var description: String { "\(offset)" }
}

extension TestClock: CustomStringConvertible, CustomDebugStringConvertible {
  /// The clock's time and the number of its pending sleeps, for example `TestClock at 3.0 seconds,
  /// 2 pending sleeps`.
  public var description: String {
    let (now, count) = scheduler.change { _ in (virtualClock.now, virtualClock.sleeps.count) }
    let sleeps =
      switch count {
      case 0: "no pending sleep"
      case 1: "1 pending sleep"
      default: "\(count) pending sleeps"
      }
    return "TestClock at \(now), \(sleeps)"
  }

  /// The ``description``, and below it a line for each pending sleep, in the order in which they
  /// would wake; and then, if the test has other tasks than the one that asks, what they wait for, as
  /// ``dump()`` says. A task of another test, or of none, gets the first two only: so a test library
  /// that prints a clock among the arguments of a test prints a line.
  public var debugDescription: String {
    let pending = pendingSleeps
    let text = pending.isEmpty ? description : description + ":\n" + pending.listed
    return text.with(scheduler.dumpInDescription)
  }
}

extension TestClock {
  /// Stops the program if the clock's bookkeeping is out of order. O(n); for tests.
  func checkInvariants() {
    scheduler.change { state in
      virtualClock.sleeps.checkInvariants()
      state.checkInvariants()
    }
  }
}
