import ClocksSupport

/// The task that runs a scope's body, and what went wrong with it.
struct ScopeBody: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  private enum Phase {
    case notBegun
    case running(RetainedTask)
    case returned
  }

  /// The state of the report that the cancelled body does not return.
  private enum Report {
    case notDue
    /// Due, or being made. The scope ends only after the report is made, because the test must not be over by then.
    case due
    case delivered
  }

  /// The task dump made when something went wrong, because later there may be no time to make one.
  private enum Dump {
    case missing
    /// The tasks are being inspected. The time that this takes does not count as running time.
    ///
    /// The scope ends only after that, because its failure lists the tasks.
    case underWay(at: Duration)
    case known(String, at: Duration)
  }

  private var phase = Phase.notBegun
  private var report = Report.notDue
  private var tasksAtProblem = Dump.missing
  /// The end of the scope, if it waits for the report or for the inspection of the tasks.
  private var waiter: UnsafeContinuation<Void, Never>?
  /// The first problem, if there is one.
  private(set) var problem: ScopeProblem?
  /// Whether a task was ready when the tasks were inspected: work outside the test made it ready just before.
  private(set) var hadReadyTask = false
  private(set) var toCancel: [RetainedTask] = []

  var task: RetainedTask? {
    if case .running(let task) = phase { task } else { nil }
  }

  @_transparent
  var isRunning: Bool {
    if case .running = phase { true } else { false }
  }

  mutating func begin(_ task: RetainedTask) {
    guard case .notBegun = phase else { preconditionFailure("A body begins while it is \(phase).") }
    phase = .running(task)
  }

  /// Returns the problem, if there is one that was not reported; and tasks to release without a lock.
  mutating func end() -> (problem: ScopeProblem?, tasks: [RetainedTask]) {
    guard case .running(let task) = phase else {
      preconditionFailure("A body returns while it is \(phase).")
    }
    phase = .returned
    return (isReported ? nil : problem, takeToCancel() + [task])
  }

  /// Notes a problem, and that the body and `culprit` have to be cancelled. Returns the report or end that is due.
  ///
  /// At the first problem the result is `nil`, because the body may return. If it has not returned at the second
  /// problem, the first one is reported, and all tasks are cancelled. If it has not returned at a later problem, the
  /// scope is abandoned.
  ///
  /// - Parameter culprit: The task that keeps the test from becoming idle, if it is known.
  mutating func abort(_ problem: ScopeProblem, culprit: RetainedTask? = nil) -> Action? {
    if let culprit { toCancel.append(culprit) }
    if let task { toCancel.append(task) }
    guard let first = self.problem else {
      self.problem = problem
      return nil
    }
    switch report {
    case .notDue:
      report = .due
      return .report(first)
    case .due: return nil
    case .delivered: return .abandon
    }
  }

  /// Whether tasks are to be cancelled, because the body has run for too long.
  var isToBeCancelledForTime: Bool {
    if case .tooLong = problem { !toCancel.isEmpty && !isBeingDumped } else { false }
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

  /// Notes that the report was made; returns the continuation to resume, if the scope may end now.
  mutating func deliverReport() -> UnsafeContinuation<Void, Never>? {
    guard case .due = report else {
      preconditionFailure("A report is delivered while it is \(report).")
    }
    report = .delivered
    return isDone() ? waiter.take() : nil
  }

  /// Returns whether no report is due, and no inspection of the tasks is under way.
  ///
  /// If not, keeps `waiter`, which `deliverReport` or `endDump` then returns.
  /// Thread A inspects the tasks. Thread B ends the scope. Without the wait, its failure would not list the tasks.
  mutating func isDone(_ waiter: UnsafeContinuation<Void, Never>? = nil) -> Bool {
    if case .due = report {} else if !isBeingDumped { return true }
    if let waiter { self.waiter = waiter }
    return false
  }

  /// Returns whether the tasks have to be inspected now, because something went wrong.
  mutating func beginDump(at now: Duration) -> Bool {
    guard problem != nil, case .missing = tasksAtProblem else { return false }
    tasksAtProblem = .underWay(at: now)
    return true
  }

  /// Notes where the tasks are; returns the continuation to resume, if the scope may end now.
  mutating func endDump(
    _ dump: String, hasReadyTask: Bool
  ) -> UnsafeContinuation<Void, Never>? {
    guard case .underWay(let time) = tasksAtProblem else {
      preconditionFailure("The inspection of tasks ends while it is \(tasksAtProblem).")
    }
    tasksAtProblem = .known(dump, at: time)
    hadReadyTask = hasReadyTask
    return isDone() ? waiter.take() : nil
  }

  var dump: String? {
    if case .known(let dump, _) = tasksAtProblem { dump } else { nil }
  }

  /// The scope's time when the tasks were inspected. Time moves on if the body does not end.
  var problemTime: Duration? {
    switch tasksAtProblem {
    case .missing: nil
    case .underWay(let time), .known(_, let time): time
    }
  }

  var isBeingDumped: Bool {
    if case .underWay = tasksAtProblem { true } else { false }
  }
}
