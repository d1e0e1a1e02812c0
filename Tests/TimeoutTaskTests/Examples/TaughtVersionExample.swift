import Clocks
import Dispatch
import Testing
import TimeoutTask

/// The class as it is often taught: a timer and the work race to resume one continuation.
///
/// `@unchecked` hides the race from the compiler.
final class TaughtTimeoutTask: @unchecked Sendable {
  private let clock: TestClock<Duration>
  private let nanoseconds: UInt64
  private let work: @Sendable () async throws -> Void
  private var waiting: CheckedContinuation<Void, any Error>?

  init(
    seconds: Double, clock: TestClock<Duration>, work: @escaping @Sendable () async throws -> Void
  ) {
    self.clock = clock
    self.nanoseconds = UInt64(seconds * 1e9)
    self.work = work
  }

  func value() async throws {
    try await withCheckedThrowingContinuation {
      waiting = $0
      Task {
        try await clock.sleep(nanoseconds: nanoseconds)
        finish(.failure(TimeoutError()))
      }
      Task {
        try await work()
        finish(.success(()))
      }
    }
  }

  func cancel() { finish(.failure(CancellationError())) }

  private func finish(_ outcome: Result<Void, any Error>) {
    waiting?.resume(with: outcome)
    waiting = nil
  }
}

/// The faults of the taught version, with their numbers in Docs/TimeoutTask.md.
///
/// Each scenario runs with both versions. A log such as `0 start, 4 end, 4 a: value` has the
/// seconds at which the work starts and ends, and at which the waiter `a` gets a value or an error.
@Suite struct TaughtVersionExample {
  enum Version: CaseIterable { case taught, package }

  typealias Handle = (value: @Sendable () async throws -> Void, cancel: @Sendable () -> Void)

  let clock = TestClock()
  private let events = Log<String>()

  private func log(_ event: String) {
    events.add("\(clock.now.offset.components.seconds) \(event)")
  }

  /// Makes a task with a timeout of five seconds.
  private func make(
    _ version: Version, workFor duration: Duration, throwing error: Failure? = nil
  ) -> Handle {
    let work: @Sendable () async throws -> Void = {
      log("start")
      if let error { throw error }
      try await clock.sleep(for: duration)
      log("end")
    }
    switch version {
    case .taught:
      let task = TaughtTimeoutTask(seconds: 5, clock: clock, work: work)
      return ({ try await task.value() }, { task.cancel() })
    case .package:
      let task = TimeoutTask(timeout: .seconds(5), clock: clock) { try await work() }
      return ({ try await task.value }, { task.cancel() })
    }
  }

  /// Starts a task that awaits the value.
  @discardableResult
  private func wait(_ name: String = "a", for task: Handle) -> Task<Void, Never> {
    Task {
      do {
        try await task.value()
        log("\(name): value")
      } catch {
        log("\(name): \(type(of: error))")
      }
    }
  }

  private func expect(_ version: Version, taught: String, package: String) {
    #expect(events.all.joined(separator: ", ") == (version == .taught ? taught : package))
  }

  @Test(arguments: Version.allCases)
  func fault1WorkAndTimeoutStartWithTheFirstWait(_ version: Version) async {
    let task = make(version, workFor: .seconds(60))
    await clock.advance(by: .seconds(4))
    wait(for: task)
    await clock.advance(by: .seconds(6))
    expect(version, taught: "4 start, 9 a: TimeoutError", package: "0 start, 5 a: TimeoutError")
  }

  @Test(arguments: Version.allCases)
  func fault2AnErrorOfTheWorkBecomesALateTimeout(_ version: Version) async {
    wait(for: make(version, workFor: .zero, throwing: Failure()))
    await clock.advance(by: .seconds(60))
    expect(version, taught: "0 start, 5 a: TimeoutError", package: "0 start, 0 a: Failure")
  }

  /// The taught version runs in another process, because the runtime reports the lost continuation.
  @Test func fault3ASecondWaiterReplacesTheFirstWhichWaitsForEver() async {
    let process = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      await Self().twoTasksWait(.taught)
    }
    let message = String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("leaked its continuation"))
    await twoTasksWait(.package)
  }

  private func twoTasksWait(_ version: Version) async {
    let task = make(version, workFor: .seconds(1))
    wait("a", for: task)
    wait("b", for: task)
    await clock.advance(by: .seconds(60))
    expect(
      version, taught: "0 start, 0 start, 1 end, 1 b: value, 1 end",
      package: "0 start, 1 end, 1 a: value, 1 b: value")
  }

  @Test(arguments: Version.allCases)
  func faults4And5TheWorkRunsAgainAndTheOldTimerEndsTheSecondWait(_ version: Version) async {
    let task = make(version, workFor: .seconds(4))
    wait("a", for: task)
    await clock.advance(by: .seconds(4))
    #expect(clock.pendingSleeps.count == (version == .taught ? 1 : 0))
    wait("b", for: task)
    await clock.advance(by: .seconds(2))
    expect(
      version, taught: "0 start, 4 end, 4 a: value, 4 start, 5 b: TimeoutError",
      package: "0 start, 4 end, 4 a: value, 4 b: value")
  }

  @Test(arguments: Version.allCases, [false, true])
  func fault6TheWorkContinuesAfterTimeoutAndCancel(_ version: Version, _ cancels: Bool) async {
    let task = make(version, workFor: .seconds(60))
    wait(for: task)
    await clock.settle()
    if cancels { task.cancel() }
    await clock.advance(by: .seconds(60))
    let events = "0 start, " + (cancels ? "0 a: CancellationError" : "5 a: TimeoutError")
    expect(version, taught: events + ", 60 end", package: events)
  }

  @Test(arguments: Version.allCases)
  func fault7CancelBeforeTheFirstWaitDoesNothing(_ version: Version) async {
    let task = make(version, workFor: .seconds(1))
    task.cancel()
    wait(for: task)
    await clock.advance(by: .seconds(60))
    expect(
      version, taught: "0 start, 1 end, 1 a: value", package: "0 start, 0 a: CancellationError")
  }

  @Test(arguments: Version.allCases)
  func fault8ACancelledWaiterContinuesToWait(_ version: Version) async {
    let waiter = wait(for: make(version, workFor: .seconds(4)))
    await clock.advance(by: .seconds(1))
    waiter.cancel()
    await clock.advance(by: .seconds(60))
    expect(
      version, taught: "0 start, 4 end, 4 a: value", package: "0 start, 1 a: CancellationError")
  }

  /// `TimeoutLengthTests` tests all values with `TimeoutTask`.
  @Test func fault9SomeNumbersOfSecondsEndTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = TaughtTimeoutTask(seconds: -1, clock: TestClock()) {}
    }
    await #expect(processExitsWith: .failure) {
      _ = TaughtTimeoutTask(seconds: .infinity, clock: TestClock()) {}
    }
  }

  /// Runs tasks, and calls `interruption` when a task becomes ready: after `resume`, before `=
  /// nil`.
  private final class InterruptingExecutor: TaskExecutor {
    private let interruption: @Sendable () -> Void
    private let queue = DispatchQueue(label: "interrupted")

    init(_ interruption: @escaping @Sendable () -> Void) { self.interruption = interruption }

    /// Calls `body` when the current task is suspended.
    func afterThisJob(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    func enqueue(_ job: consuming ExecutorJob) {
      interruption()
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test func fault10TwoThreadsResumeTheContinuation() async {
    let process = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let gate = Gate()
      let task = TaughtTimeoutTask(seconds: 5, clock: TestClock()) { await gate.pass() }
      let executor = InterruptingExecutor { task.cancel() }
      try await withTaskExecutorPreference(executor) {
        executor.afterThisJob { gate.open() }
        try await task.value()
      }
    }
    let message = String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("tried to resume its continuation more than once"))
  }

  @Test func here10TheFirstOfTwoOutcomesCounts() async throws {
    let (gate, cancellations) = (Gate(), Tally())
    let task = TimeoutTask(seconds: 1_000) { await gate.pass() }
    let executor = InterruptingExecutor {
      guard !gate.isClosed else { return }
      task.cancel()
      cancellations.add()
    }
    try await withTaskExecutorPreference(executor) {
      executor.afterThisJob { gate.open() }
      try await task.value
    }
    #expect(cancellations.value > 0)
  }
}
