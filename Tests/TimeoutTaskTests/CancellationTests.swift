import Clocks
import Testing
import TimeoutTask

/// What each cancellation cancels, and what the waiters get.
@Suite struct CancellationTests {
  let clock = TestClock()
  let log = Log<String>()

  private func sleeper() -> TimeoutTask<Void> {
    TimeoutTask(timeout: .seconds(10), clock: clock) { [clock, log] in
      do {
        try await clock.sleep(for: .seconds(5))
        log.add("work done")
      } catch {
        log.add("work cancelled")
        throw error
      }
    }
  }

  private func waiter(_ name: String, for task: TimeoutTask<Void>) -> Task<Void, Never> {
    Task { [log] in
      do {
        try await task.value
        log.add("\(name): done")
      } catch {
        log.add("\(name): \(type(of: error))")
      }
    }
  }

  // MARK: - cancel()

  @Test func cancelEndsTheWaitsAndTheWork() async {
    let task = sleeper()
    _ = waiter("a", for: task)
    await clock.settle()
    task.cancel()
    await clock.settle()
    #expect(log.all == ["a: CancellationError", "work cancelled"])
    #expect(clock.pendingSleeps.isEmpty)
  }

  @Test func cancelBeforeTheWorkRunsCancelsTheWork() async {
    let task = TimeoutTask(timeout: .seconds(10), clock: clock) { [log] in
      log.add("cancelled: \(Task.isCancelled)")
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await clock.settle()
    #expect(log.all == ["cancelled: true"])
  }

  @Test func aLaterWaiterGetsTheCancellation() async {
    let task = sleeper()
    task.cancel()
    _ = waiter("a", for: task)
    await clock.settle()
    #expect(log.all == ["work cancelled", "a: CancellationError"])
  }

  @Test func repeatedCancelsHaveNoFurtherEffect() async {
    let task = sleeper()
    _ = waiter("a", for: task)
    await clock.settle()
    for _ in 0..<3 { task.cancel() }
    await clock.settle()
    for _ in 0..<3 { task.cancel() }
    #expect(log.all == ["a: CancellationError", "work cancelled"])
  }

  @Test func cancelAfterTheOutcomeChangesNothing() async throws {
    let task = sleeper()
    await clock.advance(by: .seconds(5))
    task.cancel()
    try await task.value
    #expect(log.all == ["work done"])
  }

  @Test func workThatCancelsItsTaskSeesTheCancellation() async {
    let reference = Log<TimeoutTask<Void>>()
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { [log] in
      await gate.pass()
      reference.all[0].cancel()
      log.add("cancelled: \(Task.isCancelled)")
    }
    reference.add(task)
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    await clock.settle()
    #expect(log.all == ["cancelled: true"])
  }

  // MARK: - The work's own cancellation

  @Test func aCancellationErrorOfTheWorkIsTheOutcome() async {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { throw CancellationError() }
    await #expect(throws: CancellationError.self) { try await task.value }
    await clock.advance(by: .seconds(2))
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // MARK: - Cancelled waiters

  @Test func aCancelledWaiterStopsImmediatelyAndOthersContinue() async {
    let task = sleeper()
    let a = waiter("a", for: task)
    let b = waiter("b", for: task)
    await clock.advance(by: .seconds(1))
    a.cancel()
    await clock.settle()
    #expect(log.all == ["a: CancellationError"])
    #expect(clock.now.offset == .seconds(1))
    await clock.advance(by: .seconds(9))
    #expect(log.all == ["a: CancellationError", "work done", "b: done"])
    _ = b
  }

  @Test func whenTheLastWaiterIsCancelledTheWorkIsToo() async {
    let task = sleeper()
    let a = waiter("a", for: task)
    let b = waiter("b", for: task)
    await clock.settle()
    a.cancel()
    await clock.settle()
    #expect(clock.pendingSleeps.count == 2)
    b.cancel()
    await clock.settle()
    #expect(log.all == ["a: CancellationError", "b: CancellationError", "work cancelled"])
    #expect(clock.pendingSleeps.isEmpty)
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func aWaiterThatWasCancelledBeforehandDoesNotWait() async {
    let task = sleeper()
    let waiter = Task { [log] in
      withUnsafeCurrentTask { $0?.cancel() }
      do { try await task.value } catch { log.add("\(type(of: error))") }
    }
    await clock.settle()
    #expect(log.all == ["CancellationError", "work cancelled"])
    _ = waiter
  }

  @Test func aCancelledWaiterGetsAnExistingOutcome() async throws {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { 3 }
    await clock.settle()
    let waiter = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await task.value
    }
    #expect(try await waiter.value == 3)
  }

  @Test func aCancelledWaiterGetsTheErrorAsAResult() async {
    let task = sleeper()
    let waiter = Task { await task.result }
    await clock.settle()
    waiter.cancel()
    let result = await waiter.value
    #expect(throws: CancellationError.self) { try result.get() }
  }

  @Test func aSharedTaskContinuesWithoutItsLastWaiter() async throws {
    let task = TimeoutTask(timeout: .seconds(10), clock: clock, endsWithLastWaiter: false) {
      [clock] in
      try await clock.sleep(for: .seconds(5))
      return 7
    }
    let reader = Task { try await task.value }
    await clock.advance(by: .seconds(1))
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    #expect(clock.pendingSleeps.count == 2)
    await clock.advance(by: .seconds(4))
    #expect(try await task.value == 7)
    try await clock.checkSuspension()
  }

  @Test func aSharedTaskStillTimesOutAndCanStillBeCancelled() async throws {
    let (late, cancelled) = (sharedSleeper(), sharedSleeper())
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await clock.advance(by: .seconds(10))
    await #expect(throws: TimeoutError.self) { try await late.value }
    try await clock.checkSuspension()
  }

  private func sharedSleeper() -> TimeoutTask<Void> {
    TimeoutTask(timeout: .seconds(10), clock: clock, endsWithLastWaiter: false) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
  }

  @Test func aReferenceToTheTaskDoesNotCountAsAWaiter() async {
    let task = sleeper()
    await clock.advance(by: .seconds(1))
    let a = waiter("a", for: task)
    await clock.settle()
    a.cancel()
    await clock.settle()
    #expect(log.all == ["a: CancellationError", "work cancelled"])
  }

  @Test func manyWaitersStartAndStopInAnyOrder() async {
    let task = sleeper()
    var waiters = (0..<100).map { waiter("\($0)", for: task) }
    await clock.settle()
    for index in stride(from: 0, to: 100, by: 3) { waiters[index].cancel() }
    await clock.settle()
    waiters += (100..<110).map { waiter("\($0)", for: task) }
    await clock.settle()
    for index in stride(from: 98, to: 0, by: -3) { waiters[index].cancel() }
    await clock.advance(by: .seconds(5))
    let left = log.all.filter { $0.hasSuffix("CancellationError") }
    let done = log.all.filter { $0.hasSuffix(": done") }
    #expect(left.count == 67)
    #expect(done == (0..<110).filter { $0 >= 100 || $0 % 3 == 1 }.map { "\($0): done" })
  }
}
