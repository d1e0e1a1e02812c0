/// The task that runs a scope's body, and what went wrong with it.
struct ScopeBody {
  private enum Phase {
    case notBegun
    case running(RetainedTask)
    case returned
  }

  /// The state of the report that the cancelled body does not return.
  private enum Report {
    case notDue
    /// Due, or being made. The scope must not end before: the test might be over before its failure is known.
    case due(waiter: UnsafeContinuation<Void, Never>?)
    case delivered
  }

  /// Where the tasks were when something went wrong, in words: later there may be no time to find out.
  private enum Dump {
    case missing
    /// The tasks are being inspected. The time that this takes is not the body's.
    case underWay(at: Duration)
    case known(String, at: Duration)
  }

  private var phase = Phase.notBegun
  private var report = Report.notDue
  private var tasksAtProblem = Dump.missing
  /// What went wrong first, if anything did.
  private(set) var problem: ScopeProblem?
  /// Whether a task was ready when the tasks were inspected: something outside made it ready just before.
  private(set) var hadReadyTask = false
  private(set) var toCancel: [RetainedTask] = []

  var task: RetainedTask? {
    if case .running(let task) = phase { task } else { nil }
  }

  @inline(__always)
  var isRunning: Bool {
    if case .running = phase { true } else { false }
  }

  mutating func begin(_ task: RetainedTask) {
    guard case .notBegun = phase else { preconditionFailure("A body begins while it is \(phase).") }
    phase = .running(task)
  }

  /// Returns what went wrong, if that was not reported; and tasks to release without a lock.
  mutating func end() -> (problem: ScopeProblem?, tasks: [RetainedTask]) {
    guard case .running(let task) = phase else {
      preconditionFailure("A body returns while it is \(phase).")
    }
    phase = .returned
    return (isReported ? nil : problem, takeToCancel() + [task])
  }

  /// What follows from a problem.
  enum Consequence {
    /// The tasks in `toCancel` are cancelled.
    case cancel
    /// The first problem is to be reported now: the body was cancelled before, and has not returned.
    case report(ScopeProblem)
    /// The body is to be left: the problem was reported before, and all tasks were cancelled.
    case leave
  }

  /// Cancels the body. Returns what follows.
  mutating func abort(_ problem: ScopeProblem, culprit: RetainedTask? = nil) -> Consequence {
    if let culprit { toCancel.append(culprit) }
    if let task { toCancel.append(task) }
    guard let first = self.problem else {
      self.problem = problem
      return .cancel
    }
    switch report {
    case .notDue:
      report = .due(waiter: nil)
      return .report(first)
    case .due: return .cancel
    case .delivered: return .leave
    }
  }

  mutating func takeToCancel() -> [RetainedTask] {
    defer { toCancel = [] }
    return toCancel
  }

  /// Whether the problem was, or is to be, reported before the body returns.
  var isReported: Bool {
    if case .notDue = report { false } else { true }
  }

  var reportDelivered: Bool {
    if case .delivered = report { true } else { false }
  }

  /// Notes that the report was made; returns the continuation that waits for it.
  mutating func deliverReport() -> UnsafeContinuation<Void, Never>? {
    guard case .due(let waiter) = report else {
      preconditionFailure("A report is delivered while it is \(report).")
    }
    report = .delivered
    return waiter
  }

  /// Whether no report is due. If one is, `waiter` waits for it, if given.
  mutating func isDone(_ waiter: UnsafeContinuation<Void, Never>? = nil) -> Bool {
    guard case .due = report else { return true }
    report = .due(waiter: waiter)
    return false
  }

  /// Whether the tasks are to be inspected now, because something went wrong.
  mutating func beginDump(at now: Duration) -> Bool {
    guard problem != nil, case .missing = tasksAtProblem else { return false }
    tasksAtProblem = .underWay(at: now)
    return true
  }

  mutating func endDump(_ dump: String, hasReadyTask: Bool) {
    guard case .underWay(let time) = tasksAtProblem else {
      preconditionFailure("The inspection of tasks ends while it is \(tasksAtProblem).")
    }
    tasksAtProblem = .known(dump, at: time)
    hadReadyTask = hasReadyTask
  }

  var dump: String? {
    if case .known(let dump, _) = tasksAtProblem { dump } else { nil }
  }

  /// What time it was when the tasks were inspected: time moves on if the body does not end.
  var problemTime: Duration? {
    switch tasksAtProblem {
    case .missing: nil
    case .underWay(let time), .known(_, let time): time
    }
  }

  var isBeingDumped: Bool {
    if case .underWay = tasksAtProblem { true } else { false }
  }

  var lacksDump: Bool { problem != nil && dump == nil }
}

/// Notices that time has jumped while a task of a scope waited for external work.
///
/// The scope cannot see such work, so it looks idle and time jumps. That is known when something outside
/// makes a task ready that has not run since.
struct SkippedExternalWait {
  struct Jump: Sendable, Equatable {
    var start: Duration
    /// Where time last jumped to.
    var end: Duration

    var length: Duration { end - start }
  }

  struct SkippedTask: Sendable, Equatable {
    var task: UInt64
    var name: String?
    var jump: Jump
  }

  /// The first one.
  private(set) var first: SkippedTask?
  /// In the slot that is the task's number modulo their count. A task whose slot was taken is not found.
  private var lastRuns = [LastRun](repeating: LastRun(), count: slots)
  /// What time it was when an actor's drain last ran, whose tasks are not known.
  private var lastDrain: Duration?
  /// Where time last jumped to.
  private var lastJump: Duration?

  private static var slots: Int { 256 }

  /// `task` is 0 if the job is an actor's drain. O(1).
  @inline(__always)
  mutating func jobBegins(of task: UInt64, at now: Duration) {
    if task == 0 {
      lastDrain = now
    } else {
      lastRuns[Self.slot(of: task)] = LastRun(task: task, time: now)
    }
  }

  @inline(__always)
  mutating func timeJumps(to end: Duration) { lastJump = end }

  /// Notes that something outside the test has made a task ready.
  mutating func arrives(_ task: UInt64, name: @autoclosure () -> String?) {
    guard first == nil, let jump = jump(over: task) else { return }
    first = SkippedTask(task: task, name: name(), jump: jump)
  }

  /// Notes that a task has not waited for external work.
  mutating func forget(_ task: UInt64) {
    let slot = Self.slot(of: task)
    if lastRuns[slot].task == task { lastRuns[slot] = LastRun() }
  }

  /// The jump of time for which a task has certainly been suspended; `nil` if there is none.
  func jump(over task: UInt64) -> Jump? {
    let last = lastRuns[Self.slot(of: task)]
    guard let end = lastJump, last.task == task, last.time < end else { return nil }
    if let lastDrain, lastDrain >= end { return nil }
    return Jump(start: last.time, end: end)
  }

  private static func slot(of task: UInt64) -> Int { Int(truncatingIfNeeded: task) & (slots - 1) }

  private struct LastRun {
    var task: UInt64 = 0
    var time = Duration.zero
  }
}
