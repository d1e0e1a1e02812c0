import Clocks
import Testing
import TimeoutTask

/// One test for each rule of `withTimeoutOrNil` and `withDeadlineOrNil`.
@Suite struct WithTimeoutOrNilTests {
  let clock = TestClock()

  @Test func aResultInTimeOrLateIsReturned() async {
    #expect(await withTimeoutOrNil(.seconds(1), clock: clock) { 1 } == 1)
    #expect(await withDeadlineOrNil(clock.now, clock: clock) { Task.isCancelled } == true)
    #expect(await withTimeoutOrNil(.seconds(3600)) { 3 } == 3)
    #expect(await withDeadlineOrNil(.now + .seconds(3600)) { 4 } == 4)
    #expect(await withTimeoutOrNil(.seconds(Int64.max)) { 5 } == 5)
    #expect(await withDeadlineOrNil(.now + .seconds(Int64.max)) { 6 } == 6)
  }

  @Test func anyErrorAfterTheDeadlineBecomesNil() async throws {
    let clock = clock
    let cancelled = Task {
      try await withTimeoutOrNil(.seconds(2), clock: clock) {
        try await clock.sleep(for: .seconds(5))
        return clock.now.offset
      }
    }
    let failed = Task {
      try await withDeadlineOrNil(clock.now.advanced(by: .seconds(2)), clock: clock) {
        () throws(Failure) in
        try? await clock.sleep(for: .seconds(5))
        throw Failure()
      }
    }
    await clock.advance(by: .seconds(2))
    #expect(try await cancelled.value == nil)
    #expect(try await failed.value as Void? == nil)
    try await clock.checkSuspension()
  }

  /// The type of the error is known: this compiles without a cast.
  @Test func anErrorInTimeIsThrownWithItsType() async {
    do throws(Failure) {
      _ = try await withTimeoutOrNil(.seconds(1), clock: clock) { () throws(Failure) -> Int in
        throw Failure()
      }
      Issue.record("No error was thrown.")
    } catch {
      let failure: Failure = error
      #expect(failure == Failure())
    }
  }

  @Test func cancellingTheCallerCausesNoTimeout() async {
    let task = Task { [clock] in
      try await withTimeoutOrNil(.seconds(2), clock: clock) {
        try await clock.sleep(for: .seconds(5))
      }
    }
    await clock.advance(by: .seconds(1))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// If the result were `nil`, code without time left would continue.
  @Test func aPassedOuterDeadlineGivesAnErrorAndNotNil() async {
    let log = Log<String>()
    let task = Task { [clock] in
      try await withTimeout(.seconds(1), clock: clock, name: "outer") {
        _ = try await withTimeoutOrNil(.seconds(2), clock: clock) {
          try await clock.sleep(for: .seconds(5))
        }
        log.add("went on")
      }
    }
    await clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError(timeout: .seconds(1), operation: "outer")) {
      try await task.value
    }
    #expect(log.all == [])
  }

  @Test func anErrorOfTheClockCancelsTheOperationAndItsErrorIsThrown() async {
    await #expect(throws: Failure.self) {
      try await withTimeoutOrNil(.seconds(1), clock: FailingClock()) { () throws(Failure) in
        while !Task.isCancelled { try? await clock.sleep(for: .seconds(1)) }
        throw Failure()
      }
    }
  }

  private struct NotCopyable: ~Copyable {
    let number: Int
  }

  @Test func theResultNeedNotBeCopyable() async {
    let result = await withTimeoutOrNil(.seconds(1), clock: clock) { NotCopyable(number: 6) }
    switch consume result {
    case .some(let value): #expect(value.number == 6)
    case nil: Issue.record("The timeout should not have passed.")
    }
  }
}
