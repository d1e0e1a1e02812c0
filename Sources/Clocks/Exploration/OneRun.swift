import ClocksSupport

/// Something that went wrong in a run.
struct Finding: Sendable, Hashable {
  /// What and where, but for what differs from run to run: two findings of one key are the same failure.
  var key: String
  var text: String
}

/// What came of one run of the operation.
struct RunOutcome: Sendable {
  var findings: [Finding] = []
  /// The error that the operation threw.
  var error: (any Error)?
  /// Whether the operation did not end, and was left.
  var isLeft = false

  var hasFailed: Bool { !findings.isEmpty }

  /// The failure by which it is known again: the first one.
  var key: String? { findings.first?.key }
}

/// Collects what goes wrong while a run goes on.
final class Findings: Sendable {
  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var findings: [Finding] = []

  deinit { lock.destroy() }

  func add(_ finding: Finding) { lock.withLock { findings.append(finding) } }

  /// Takes in what the scope itself reports.
  func add(scopeReport text: String) {
    // The instant and the numbers of tasks may differ.
    add(Finding(key: String(text.prefix { !$0.isNumber }), text: text))
  }

  func take() -> [Finding] {
    lock.withLock {
      defer { findings = [] }
      return findings
    }
  }
}

/// Runs the operation once in an explored scope.
struct OneRun {
  typealias Operation = (VirtualTime) async throws -> Void

  let options: ScopeOptions
  let origin: CallSite
  let findings: Findings
  let explorer: Explorer
  /// What the system's clocks read when a run begins, the same in each.
  private let start = SystemClocks()

  init(options: ScopeOptions, origin: CallSite, findings: Findings, explorer: Explorer) {
    self.options = options
    self.origin = origin
    self.findings = findings
    self.explorer = explorer
  }

  /// Runs the operation in a task of its own, so that it can be left if it does not end.
  func callAsFunction(
    isolation: isolated (any Actor)? = #isolation, details: Bool = false,
    _ operation: @escaping Operation
  ) async -> (outcome: RunOutcome, details: StepDetails?) {
    // For an outer scope no time passes meanwhile.
    let outer = VirtualTime.current
    outer?.scheduler.beginHold()
    defer { outer?.scheduler.endHold() }

    let findings = findings
    // Found out before the first run, if nobody has asked yet.
    _ = Hops.missing
    explorer.reset()
    let time = VirtualTime(
      options, at: origin, record: { findings.add(scopeReport: $0) }, chooser: explorer,
      start: start)
    let virtualClock = time.scheduler.scope!.virtualClock
    explorer.details = details ? StepDetails(virtualClock) : nil
    let end = RunEnd()
    let scheduler = time.scheduler
    scheduler.scope?.isLeft = { [unowned scheduler] problem in
      findings.add(scopeReport: scheduler.describe(problem))
      end.finish(isLeft: true)
    }
    nonisolated(unsafe) let operation = operation
    let body: @isolated(any) () async -> Void = {
      _ = isolation
      await time.begin()
      do {
        try await operation(time)
      } catch {
        end.error = error
      }
      await time.end()
      end.finish(isLeft: false)
    }
    // The current task is suspended all the while, so nothing is used by both at the same time.
    let sendable = unsafeBitCast(body, to: (@Sendable @isolated(any) () async -> Void).self)
    await end.wait(for: sendable, in: time.scheduler)
    time.scheduler.change { $0.order = Order() }
    var outcome = RunOutcome(findings: findings.take(), error: end.error, isLeft: end.isLeft)
    if case .onTrial = options.recording, let recorder = time.scheduler.recorder {
      if outcome.findings.contains(where: \.isXCTest) {
        recorder.deliver()
      } else {
        recorder.drop()
      }
    }
    if let error = end.error, !outcome.hasFailed {
      let text = "the operation threw \(type(of: error)): \(error)"
      outcome.findings = [Finding(key: "threw \(type(of: error))", text: text)]
    }
    return (outcome, explorer.details)
  }
}

/// The end of one run, for which somebody waits.
private final class RunEnd: @unchecked Sendable {
  // Written by the operation's task before `finish`, read after the wait.
  nonisolated(unsafe) var error: (any Error)?
  nonisolated(unsafe) private(set) var isLeft = false

  private let lock = Lock(.leaf)
  /// Who waits; guarded by the lock.
  nonisolated(unsafe) private var continuation: UnsafeContinuation<Void, Never>?
  nonisolated(unsafe) private var task: Task<Void, Never>?

  deinit { lock.destroy() }

  func finish(isLeft: Bool) {
    let continuation = lock.withLock {
      self.isLeft = isLeft
      defer { self.continuation = nil }
      return self.continuation
    }
    continuation?.resume()
  }

  private func cancel() { lock.withLock { task }?.cancel() }

  /// Starts the body as a task of the scheduler's, and waits for `finish`.
  @concurrent
  func wait(
    for body: @escaping @Sendable @isolated(any) () async -> Void, in scheduler: Scheduler
  ) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        lock.withLock { self.continuation = continuation }
        // Its first job waits for the end of this one, and then gets the thread of it.
        scheduler.waitForCurrentJob()
        // Whatever is started on behalf of the scheduler is the scope's.
        var context = ThreadContext(owner: scheduler, taskID: UnownedTask.currentID ?? 0)
        context.run { _ in
          let task = Task(operation: body)
          lock.withLock { self.task = task }
        }
      }
    } onCancel: {
      cancel()
    }
    let task = lock.withLock {
      defer { self.task = nil }
      return self.task
    }
    // Until it has let go of everything.
    if !isLeft { await task?.value }
  }
}
