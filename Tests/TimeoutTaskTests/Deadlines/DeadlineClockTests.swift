import Clocks
import Testing
import TimeoutTask

/// `withDeadline` and `withTimeout` with all kinds of clocks and instants.
@Suite struct DeadlineClockTests {
  let clock = TestClock()

  private func after(_ duration: Duration) -> TestClock<Duration>.Instant {
    clock.now.advanced(by: duration)
  }

  // MARK: - Past and infinite deadlines

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(-Int64.max)])
  func withoutTimeTheOperationBeginsCancelled(_ timeout: Duration) async throws {
    #expect(try await withTimeout(timeout, clock: clock) { Task.isCancelled })
    await #expect(throws: TimeoutError(timeout: timeout)) {
      try await withTimeout(timeout, clock: clock) { try Task.checkCancellation() }
    }
    try await clock.checkSuspension()
  }

  @Test func withADeadlineInThePastTheOperationBeginsCancelled() async throws {
    await clock.advance(by: .seconds(5))
    let past = TestClock<Duration>.Instant(offset: .seconds(4))
    #expect(try await withDeadline(past, clock: clock) { Task.isCancelled })
    await #expect(throws: TimeoutError(timeout: .seconds(-1))) {
      try await withDeadline(past, clock: clock) { try Task.checkCancellation() }
    }
  }

  @Test func anInfiniteTimeoutNeedsNoTimer() async throws {
    let count = try await withTimeout(.seconds(Int64.max), clock: clock) {
      clock.pendingSleeps.count
    }
    #expect(count == 0)
    try await withDeadline(after(.seconds(Int64.max)), clock: clock) {
      #expect(clock.pendingSleeps.isEmpty)
    }
    #expect(try await withDeadline(.now + .seconds(Int64.max)) { 1 } == 1)
  }

  // MARK: - Other clocks

  @Test func theContinuousClockIsTheDefault() async throws {
    #expect(try await withTimeout(.seconds(3600)) { 1 } == 1)
    #expect(try await withDeadline(.now + .seconds(3600)) { 2 } == 2)
    #expect(try await withDeadline(in: .seconds(3600)) { 3 } == 3)
    #expect(try await withDeadline(in: .seconds(3600), clock: .suspending) { 4 } == 4)
    await #expect(throws: TimeoutError(timeout: .milliseconds(3))) {
      try await withDeadline(in: .milliseconds(3)) { try await Task.sleep(for: .seconds(3600)) }
    }
  }

  @Test func onAnImmediateClockEachDeadlineHasPassed() async {
    await #expect(throws: TimeoutError.self) {
      try await withTimeout(.seconds(1), clock: ImmediateClock()) {
        try await clock.sleep(for: .seconds(1))
      }
    }
  }

  @Test func anErrorOfTheClockCancelsTheOperationAndIsThrown() async {
    await #expect(throws: FailingClock.Failure.self) {
      try await withTimeout(.seconds(1), clock: FailingClock()) {
        try await clock.sleep(for: .seconds(1))
      }
    }
  }

  @Test func anErrorOfTheClockAfterTheResultIsIgnored() async throws {
    let gate = Gate()
    let result = try await withTimeout(.seconds(1), clock: FailingClock(gate: gate)) {
      defer { gate.open() }
      return 1
    }
    #expect(result == 1)
  }
}
