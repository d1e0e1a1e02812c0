import Clocks
import Testing
import TimeoutTask

/// One test for each rule of `withDeadline` and `withTimeout`, in virtual time.
@Suite struct WithDeadlineTests {
  let clock = TestClock()
  let log = Log<String>()

  private func after(_ duration: Duration) -> TestClock<Duration>.Instant {
    clock.now.advanced(by: duration)
  }

  // MARK: - Result and errors

  @Test func aResultInTimeIsReturnedAndTheTimerIsGone() async throws {
    let task = Task { [clock, log] in
      let result = try await withTimeout(.seconds(5), clock: clock) {
        try await clock.sleep(for: .seconds(1))
        return 4
      }
      log.add("\(clock.now), \(clock.pendingSleeps.count) sleeps")
      return result
    }
    await clock.advance(by: .seconds(1))
    #expect(try await task.value == 4)
    #expect(log.all == ["1.0 seconds, 0 sleeps"])
  }

  @Test func theOperationsErrorIsThrown() async throws {
    await #expect(throws: Failure.self) {
      try await withDeadline(after(.seconds(1)), clock: clock) { throw Failure() }
    }
    try await clock.checkSuspension()
  }

  @Test func aCancellationErrorOfTheOperationIsThrownUnchanged() async {
    await #expect(throws: CancellationError.self) {
      try await withDeadline(after(.seconds(1)), clock: clock) { throw CancellationError() }
    }
  }

  @Test func whenTheDeadlinePassesTheOperationIsCancelledAndATimeoutErrorComesBack() async {
    let task = Task { [clock, log] in
      do {
        try await withTimeout(.seconds(2), clock: clock, name: "sleep") {
          try await clock.sleep(for: .seconds(5))
        }
      } catch {
        log.add("\(clock.now)")
        throw error
      }
    }
    await clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError(timeout: .seconds(2), operation: "sleep")) {
      try await task.value
    }
    #expect(log.all == ["2.0 seconds"])
  }

  @Test func theErrorContainsTheTimeUntilTheDeadline() async {
    await clock.advance(by: .seconds(10))
    let deadline = after(.seconds(3))
    let task = Task { [clock] in
      try await withDeadline(deadline, clock: clock) { try await clock.sleep(for: .seconds(4)) }
    }
    await clock.advance(by: .seconds(3))
    await #expect(throws: TimeoutError(timeout: .seconds(3))) { try await task.value }
  }

  @Test func aLateResultIsReturned() async throws {
    let task = Task { [clock] in
      try await withDeadline(clock.now.advanced(by: .seconds(1)), clock: clock) {
        try? await clock.sleep(for: .seconds(2))
        return (Task.isCancelled, clock.now.offset)
      }
    }
    await clock.advance(by: .seconds(2))
    #expect(try await task.value == (true, .seconds(1)))
  }

  /// Libraries have their own errors for a cancellation, such as `URLError.cancelled`.
  @Test func theErrorOfACancelledOperationIsInsideTheTimeoutError() async throws {
    let task = Task { [clock] in
      try await withTimeout(.seconds(1), clock: clock) {
        do { try await clock.sleep(for: .seconds(2)) } catch { throw Failure() }
      }
    }
    await clock.advance(by: .seconds(1))
    let error = await #expect(throws: TimeoutError(timeout: .seconds(1))) { try await task.value }
    #expect(error?.underlyingError as? Failure == Failure())
  }

  @Test func aCancellationErrorIsInsideTheTimeoutError() async throws {
    let error = await #expect(throws: TimeoutError(timeout: .zero)) {
      try await withTimeout(.zero, clock: clock) { try Task.checkCancellation() }
    }
    #expect(error?.underlyingError is CancellationError)
  }

  /// The outer error contains the inner one, which contains the error of the operation.
  @Test func aLateTimeoutErrorOfAnInnerDeadlineIsInsideTheOuterOne() async throws {
    let task = Task { [clock] in
      try await withTimeout(.seconds(3), clock: clock, name: "outer") {
        try await withTimeout(.seconds(2), clock: clock, name: "inner") {
          // Continues after both deadlines.
          while clock.now.offset < .seconds(3) {
            await Task.detached { try? await clock.sleep(for: .seconds(1)) }.value
          }
          throw Failure()
        }
      }
    }
    await clock.advance(by: .seconds(5))
    let outer = await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "outer")) {
      try await task.value
    }
    let inner = try #require(outer?.underlyingError as? TimeoutError)
    #expect(inner == TimeoutError(timeout: .seconds(2), operation: "inner"))
    #expect(inner.underlyingError is Failure)
  }

  /// The first cancellation decides.
  @Test func aCancelledCallerGetsTheOperationsErrorThoughTheDeadlinePasses() async {
    let task = Task { [clock] in
      try await withTimeout(.seconds(2), clock: clock) {
        await Task.detached { try? await clock.sleep(for: .seconds(3)) }.value
        throw Failure()
      }
    }
    await clock.advance(by: .seconds(1))
    task.cancel()
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(3)])
    await clock.advance(by: .seconds(5))
    await #expect(throws: Failure.self) { try await task.value }
  }

  // MARK: - Joining

  @Test func anOperationThatIgnoresCancellationIsWaitedFor() async throws {
    let gate = Gate()
    let task = Task { [clock, log] in
      try await withTimeout(.seconds(1), clock: clock) {
        await gate.pass()
        log.add("operation ended")
      }
      log.add("returned")
    }
    await clock.advance(by: .seconds(100))
    #expect(log.all == [])
    gate.open()
    try await task.value
    #expect(log.all == ["operation ended", "returned"])
  }

  @Test func theTimerIsOnTheClockBeforeTheOperationBegins() async throws {
    let deadlines = try await withTimeout(.seconds(7), tolerance: .seconds(1), clock: clock) {
      clock.pendingSleeps.map { [$0.deadline.offset, $0.tolerance] }
    }
    #expect(deadlines == [[.seconds(7), .seconds(1)]])
  }

  // MARK: - Isolation

  private final class NotSendable {
    var count = 0
  }

  private actor Account {
    let balance = NotSendable()

    func deposit(_ clock: TestClock<Duration>) async throws -> Int {
      let note = NotSendable()
      let same = try await withTimeout(.seconds(1), clock: clock) {
        preconditionIsolated()
        balance.count += 1
        try await clock.sleep(for: .milliseconds(1))
        preconditionIsolated()
        balance.count += 1
        note.count = balance.count
        return note
      }
      preconditionIsolated()
      return same.count
    }
  }

  @Test func theOperationRunsOnTheCallersActorWithValuesThatAreNotSendable() async throws {
    let task = Task { [clock] in try await Account().deposit(clock) }
    await clock.advance(by: .milliseconds(1))
    #expect(try await task.value == 2)
  }

  @Test @MainActor func theOperationRunsOnTheMainActor() async throws {
    let note = NotSendable()
    try await withTimeout(.seconds(1), clock: clock) {
      MainActor.preconditionIsolated()
      note.count += 1
    }
    #expect(note.count == 1)
  }

  private struct NotCopyable: ~Copyable {
    let number: Int
  }

  @Test func theResultNeedNotBeCopyable() async throws {
    let result = try await withTimeout(.seconds(1), clock: clock) { NotCopyable(number: 6) }
    #expect(result.number == 6)
  }

  @TaskLocal static var number = 0

  @Test func taskLocalValuesAndTheNamePassToTheOperation() async throws {
    try await WithDeadlineTests.$number.withValue(5) {
      let (number, name) = try await withTimeout(.seconds(1), clock: clock, name: "load") {
        (WithDeadlineTests.number, Task.name)
      }
      #expect(number == 5)
      #expect(name == "load")
    }
  }

  @Test func withTimeoutCanRunInAChildTask() async throws {
    async let first = withTimeout(.seconds(1), clock: clock) { 1 }
    async let second = withDeadline(after(.seconds(1)), clock: clock) { 2 }
    #expect(try await first + second == 3)
  }

  // MARK: - Cancellation

  @Test func cancellingTheCallerCancelsTheOperation() async throws {
    let task = Task { [clock] in
      try await withTimeout(.seconds(5), clock: clock) { try await clock.sleep(for: .seconds(1)) }
    }
    await clock.settle()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await clock.checkSuspension()
  }

  @Test func anOperationOfACancelledCallerBeginsCancelled() async throws {
    let task = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withTimeout(.seconds(5), clock: clock) { Task.isCancelled }
    }
    #expect(try await task.value)
    try await clock.checkSuspension()
  }

  @Test func theDeadlineDoesNotCancelTheCaller() async throws {
    let task = Task { [clock] in
      try? await withTimeout(.seconds(1), clock: clock) { try await clock.sleep(for: .seconds(2)) }
      return Task.isCancelled
    }
    await clock.advance(by: .seconds(1))
    #expect(await task.value == false)
  }
}
