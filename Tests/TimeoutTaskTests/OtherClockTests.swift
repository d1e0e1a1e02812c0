import Clocks
import Testing
import TimeoutTask

/// Clocks other than a test clock: real ones, immediate ones, and clocks that fail.
@Suite struct OtherClockTests {
  @Test func onTheContinuousClockATimeoutPasses() async {
    let gate = Gate()
    let task = TimeoutTask(timeout: .milliseconds(5)) { await gate.pass() }
    await #expect(throws: TimeoutError(timeout: .milliseconds(5))) { try await task.value }
    gate.open()
    let other = TimeoutTask(seconds: 0.005) { try await Task.sleep(for: .seconds(3600)) }
    await #expect(throws: TimeoutError(timeout: .milliseconds(5))) { try await other.value }
  }

  @Test func onTheContinuousClockAResultComesInTime() async throws {
    #expect(try await TimeoutTask(timeout: .seconds(3600)) { 1 }.value == 1)
    #expect(try await TimeoutTask(seconds: 3600) { 1 }.value == 1)
    #expect(try await TimeoutTask(timeout: .seconds(3600), clock: .suspending) { 1 }.value == 1)
  }

  @Test func onAnImmediateClockEachTimeoutHasPassed() async {
    let log = Log<Bool>()
    let clock = TestClock()
    let task = TimeoutTask(timeout: .seconds(3600), clock: ImmediateClock()) {
      log.add(Task.isCancelled)
    }
    await #expect(throws: TimeoutError(timeout: .seconds(3600))) { try await task.value }
    await clock.settle()
    #expect(log.all == [true])
  }

  /// The clock ends each sleep before the operation begins, which is cancelled already.
  @Test func aCancelledCallerGetsTheErrorOfItsOperation() async {
    func error(on clock: some Clock<Duration>) async -> (any Error)? {
      await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        do {
          try await withTimeout(.seconds(1), clock: clock) { try Task.checkCancellation() }
          return nil
        } catch {
          return error
        }
      }.value
    }
    #expect(await error(on: ImmediateClock()) is CancellationError)
    #expect(await error(on: FailingClock()) is CancellationError)
  }

  @Test func anErrorOfTheClockIsTheOutcomeAndCancelsTheWork() async {
    let log = Log<Bool>()
    let clock = TestClock()
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: FailingClock(gate: gate)) {
      do { try await clock.sleep(for: .seconds(5)) } catch { log.add(Task.isCancelled) }
    }
    await clock.settle()
    gate.open()
    await #expect(throws: FailingClock.Failure.self) { try await task.value }
    await clock.settle()
    #expect(log.all == [true])
  }

  @Test func anImmediateErrorOfTheClockIsTheOutcome() async {
    let task = TimeoutTask(timeout: .seconds(1), clock: FailingClock()) { 1 }
    await #expect(throws: FailingClock.Failure.self) { try await task.value }
  }

  @Test func aCancellationErrorOfTheClockIsTheOutcome() async {
    let clock = FailingClock(error: CancellationError())
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { await gate.pass() }
    await #expect(throws: CancellationError.self) { try await task.value }
    gate.open()
  }

  @Test func anErrorOfTheClockAfterTheOutcomeIsIgnored() async throws {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1000), clock: FailingClock(gate: gate)) { 1 }
    #expect(try await task.value == 1)
    gate.open()
    #expect(try await task.value == 1)
  }

  /// Thread A cancels the sleep. A task that asks for the outcome meanwhile gets it after thread A
  /// has removed the sleep.
  @Test func noTaskSeesTheOutcomeBeforeTheTimerIsGone() async throws {
    let gate = Gate()
    let tasks = Log<TimeoutTask<Int>>()
    let askers = Log<Task<Bool, Never>>()
    let clock = HandFiredClock { clock in
      askers.add(
        Task.immediate {
          _ = await tasks.all[0].result
          return clock.isSleeping
        })
    }
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
      await gate.pass()
      return 1
    }
    tasks.add(task)
    gate.open()
    #expect(try await task.value == 1)
    #expect(await askers.all[0].value == false)
  }
}
