import Clocks
import Testing
import TimeoutTask

/// One test for each rule of `TimeoutTask`, in virtual time.
@Suite struct TimeoutTaskTests {
  let clock = TestClock()
  let log = Log<String>()

  // MARK: - Start

  @Test func theWorkStartsWhenTheTaskIsMade() async {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { log.add("started") }
    await clock.settle()
    #expect(log.all == ["started"])
    _ = task
  }

  @Test func theDeadlineCountsFromTheInitializer() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
    await clock.advance(by: .seconds(4))
    let waiter = Task { [clock] in
      _ = await task.result
      return clock.now.offset
    }
    await clock.advance(by: .seconds(60))
    #expect(await waiter.value == .seconds(5))
  }

  @Test func theTimerIsOnTheClockBeforeTheInitializerReturnsAndBeforeTheWorkRuns() async {
    let task = TimeoutTask(
      timeout: .seconds(3), tolerance: .milliseconds(7), clock: clock, name: "wait"
    ) { [clock, log] in
      log.add("\(clock.pendingSleeps.map(\.deadline))")
    }
    #expect(log.all == [])
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(3)])
    #expect(clock.pendingSleeps.map(\.tolerance) == [.milliseconds(7)])
    #expect(clock.pendingSleeps.map(\.taskName) == ["timeout of wait"])
    await clock.settle()
    #expect(log.all == ["[3.0 seconds]"])
    _ = task
  }

  @Test @MainActor func onTheMainActorTheTimerIsOnTheClockImmediately() async {
    let task = TimeoutTask(timeout: .seconds(3), clock: clock) {}
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(3)])
    await clock.settle()
    #expect(clock.pendingSleeps.isEmpty)
    _ = task
  }

  @Test func anAdvanceRightAfterTheInitializerIsNotMissed() async {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(2))
    }
    await clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(clock.now.offset == .seconds(1))
  }

  // MARK: - The first outcome wins

  @Test func aResultInTimeWins() async throws {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(1))
      return 4
    }
    await clock.advance(by: .seconds(5))
    task.cancel()
    #expect(try await task.value == 4)
    #expect(try await task.result.get() == 4)
  }

  @Test func anErrorOfTheWorkWins() async {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(1))
      throw Failure()
    }
    await clock.advance(by: .seconds(5))
    task.cancel()
    await #expect(throws: Failure.self) { try await task.value }
  }

  @Test func theTimeoutWins() async {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      do { try await clock.sleep(for: .seconds(3)) } catch { throw Failure() }
    }
    await clock.advance(by: .seconds(5))
    task.cancel()
    await #expect(throws: TimeoutError(timeout: .seconds(2))) { try await task.value }
  }

  @Test func theTimeoutWinsOverAResultAtTheSameInstant() async {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(2))
    }
    await clock.advance(by: .seconds(2))
    await #expect(throws: TimeoutError.self) { try await task.value }
  }

  @Test func aCancellationWins() async {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      do { try await clock.sleep(for: .seconds(1)) } catch { throw Failure() }
    }
    task.cancel()
    await clock.advance(by: .seconds(5))
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(arguments: ["result", "error", "timeout", "cancellation"])
  func allWaitersGetTheSameBeforeAndAfterTheOutcome(_ kind: String) async {
    let task = TimeoutTask(timeout: .seconds(2), clock: clock) { [clock] in
      if kind == "result" || kind == "error" { try await clock.sleep(for: .seconds(1)) }
      if kind == "error" { throw Failure() }
      if kind == "result" { return 5 }
      try await clock.sleep(for: .seconds(10))
      return 0
    }
    @Sendable func outcome() async -> String {
      do { return "\(try await task.value)" } catch { return "\(type(of: error))" }
    }
    let before = (0..<10).map { _ in Task { await outcome() } }
    await clock.settle()
    if kind == "cancellation" { task.cancel() }
    await clock.advance(by: .seconds(20))
    let after = (0..<10).map { _ in Task { await outcome() } }

    let expected = [
      "result": "5", "error": "Failure", "timeout": "TimeoutError",
      "cancellation": "CancellationError",
    ]
    for waiter in before + after { #expect(await waiter.value == expected[kind]) }
  }

  @Test func waitersWakeInFIFOOrder() async {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(2))
    }
    for number in 0..<5 {
      Task { [log] in
        _ = await task.result
        log.add("\(number)")
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["0", "1", "2", "3", "4"])
  }

  // MARK: - When the timeout passes

  @Test func waitersGetTheErrorAtTheDeadlineEvenIfTheWorkIgnoresCancellation() async {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { await gate.pass() }
    let waiter = Task { [clock] in
      await #expect(throws: TimeoutError.self) { try await task.value }
      return clock.now.offset
    }
    await clock.advance(by: .seconds(1))
    #expect(await waiter.value == .seconds(1))
    gate.open()
  }

  @Test func waitersGetTheErrorBeforeTheWorkIsCancelled() async {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { [log] in
      await withTaskCancellationHandler {
        await gate.pass()
      } onCancel: {
        log.add("work cancelled")
      }
    }
    for _ in 0..<2 {
      Task { [log] in
        _ = await task.result
        log.add("waiter told")
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["waiter told", "waiter told", "work cancelled"])
    gate.open()
  }

  @Test func withoutAWaiterTheTimeoutCancelsTheWork() async {
    TimeoutTask(timeout: .seconds(1), clock: clock) { [clock, log] in
      do { try await clock.sleep(for: .seconds(5)) } catch { log.add("\(clock.now) \(error)") }
    }
    await clock.advance(by: .seconds(5))
    #expect(log.all == ["1.0 seconds CancellationError()"])
  }

  @Test func aLateResultIsPassedToTheHandler() async throws {
    let gate = Gate()
    let late = Log<Result<Int, any Error>>()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
      await gate.pass()
      return 7
    } onLateResult: {
      late.add($0)
    }
    await clock.advance(by: .seconds(1))
    #expect(late.all.isEmpty)
    gate.open()
    await clock.settle()
    #expect(late.all.count == 1)
    #expect(try late.all.first?.get() == 7)
    await #expect(throws: TimeoutError.self) { try await task.value }
  }

  @Test func aLateErrorIsPassedToTheHandler() async {
    let late = Log<Result<Void, any Error>>()
    TimeoutTask(timeout: .seconds(1), clock: clock) { [clock] in
      do { try await clock.sleep(for: .seconds(2)) } catch { throw Failure() }
    } onLateResult: {
      late.add($0)
    }
    await clock.advance(by: .seconds(1))
    #expect(late.all.count == 1)
    #expect(throws: Failure.self) { try late.all.first?.get() }
  }

  @Test func aResultInTimeIsNotLate() async throws {
    let late = Log<Result<Int, any Error>>()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
      7
    } onLateResult: {
      late.add($0)
    }
    #expect(try await task.value == 7)
    await clock.advance(by: .seconds(2))
    #expect(late.all.isEmpty)
  }

  // MARK: - When the work ends first

  @Test func theTimerLeavesTheClockWhenTheWorkEnds() async throws {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(1))
      return 1
    }
    let waiter = Task { [clock] in
      _ = try await task.value
      return clock.pendingSleeps.count
    }
    await clock.advance(by: .seconds(1))
    #expect(clock.pendingSleeps.isEmpty)
    #expect(try await waiter.value == 0)
    try await clock.checkSuspension()
  }

  @Test func cancelRemovesTheTimerFromTheClock() async throws {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { await gate.pass() }
    task.cancel()
    #expect(clock.pendingSleeps.isEmpty)
    gate.open()
    try await clock.checkSuspension()
  }
}
