extension ExternalTasks {
  enum State: Equatable {
    /// The task runs in the scheduler's order only, and has no entry.
    case none
    /// The task may have become external unseen, and is checked before the test counts as idle.
    case unverified
    /// External, until `ExternalTaskRegistry` reports the end of the absence, or a job of the task becomes ready.
    case external(absence: UInt64)
    /// External, because an `async let` of the task is external. Ends when `recheckAsyncLets` finds none, or when a job
    /// of the task becomes ready.
    case awaitingAsyncLet(absence: UInt64)
    /// The task was reported, because it did not return. The test no longer waits for it.
    case abandoned
    /// The task was cancelled after the end of its scope, but always had a job ready. Its jobs no longer run.
    case stopped

    /// Whether a recording shows that the task became external.
    ///
    /// A suspended task may count as external for a moment, until the thread that ran it last is known to have left it.
    /// Whether this happens depends on other tests, so a recording does not show it.
    func isSeen(of task: RetainedTask) -> Bool {
      if case .awaitingAsyncLet = self { true } else { TaskStatus.isAboutToRun(task.job) }
    }
  }

  /// The state of one task, and the facts that decide it.
  struct Entry: TaskTableEntry {
    static var none: Self { Self() }

    private(set) var state = State.none
    /// Keeps the task in memory while it may be external; `nil` if it is abandoned, stopped, or over and freed.
    var task: RetainedTask?
    /// Whether the task may have run externally since it was last checked.
    var mayHaveRun = false
    /// Whether the task may have an `async let`. If so, the task is checked.
    var hasAsyncLets = false
    /// The number of the task's jobs that run on custom executors.
    var runs = 0
    /// Whether the task's job waits in virtual time, and holds its thread meanwhile.
    var isPaused = false
    /// Whether a recording shows that the task became external, and so has to show its return.
    var isSeenExternal = false

    var isNone: Bool {
      if case .none = state { true } else { false }
    }

    /// The number under which `ExternalTaskRegistry` knows the task; 0 unless the task is external.
    var absence: UInt64 {
      switch state {
      case .external(let absence), .awaitingAsyncLet(let absence): absence
      case .none, .unverified, .abandoned, .stopped: 0
      }
    }

    var isExternal: Bool { absence != 0 }

    /// Whether the test waits for the task to return.
    var isOutstanding: Bool { isExternal && !isPaused }

    /// Whether the test waits for a job of the task.
    var isRunning: Bool { runs > 0 && !isPaused }

    /// Whether the task's status alone shows that it is not external, but may become external.
    var isSettled: Bool {
      guard !mayHaveRun, !hasAsyncLets, runs == 0, let task else { return false }
      let status = TaskStatus(of: task.job)
      return status.hasPreference && !status.isActive && !status.isOver
    }

    /// Whether a task that is not external may become external before the scheduler runs a job of it.
    var mayBecomeExternal: Bool {
      guard let task else { return false }
      let status = TaskStatus(of: task.job)
      return !status.isOver && (status.isActive || hasAsyncLets || status.hasPreference)
    }

    /// Notes that the task was found not to be external. Returns whether the entry changed.
    mutating func wasChecked() -> Bool {
      let hasNoAsyncLet = hasAsyncLets && task.map { TaskStatus.mayHaveAsyncLet($0.job) } != true
      if hasNoAsyncLet { hasAsyncLets = false }
      defer { mayHaveRun = false }
      return mayHaveRun || hasNoAsyncLet
    }

    mutating func become(_ new: State) {
      switch (state, new) {
      case (.none, .unverified), (.unverified, .external), (.unverified, .awaitingAsyncLet),
        (.external, .unverified), (.awaitingAsyncLet, .unverified), (.unverified, .abandoned),
        (.external, .abandoned), (.awaitingAsyncLet, .abandoned), (_, .stopped):
        state = new
      default:
        preconditionFailure("A task that is \(state) cannot become \(new).")
      }
    }
  }
}
