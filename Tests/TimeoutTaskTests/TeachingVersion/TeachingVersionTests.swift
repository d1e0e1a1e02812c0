import Clocks
import Testing
import TimeoutTask

/// What goes wrong in the version that is taught, and what happens here instead.
///
/// Each fault has its number in Docs/TimeoutTask.md.
@Suite struct TeachingVersionTests {
  let clock = TestClock()
  let log = Log<String>()

  /// Lets a task wait, and logs when it got what.
  @discardableResult
  private func report<Value: Sendable>(
    _ name: String = "waiter", _ value: @escaping @Sendable () async throws -> Value
  ) -> Task<Void, Never> {
    Task { [clock, log] in
      do {
        let value = try await value()
        log.add("\(clock.now): \(name) got \(value)")
      } catch {
        log.add("\(clock.now): \(name) got \(type(of: error))")
      }
    }
  }

  // MARK: - 1. Nothing happens until somebody asks

  @Test func fault1TheWorkStartsWhenSomebodyAsks() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [log] in log.add("started") }
    await clock.advance(by: .seconds(100))
    #expect(log.all == [])
    _ = task
  }

  @Test func here1TheWorkStartsAtOnce() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [log] in log.add("started") }
    await clock.settle()
    #expect(log.all == ["started"])
    _ = task
  }

  @Test func fault1TheTimeoutCountsFromTheQuestion() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
    await clock.advance(by: .seconds(4))
    report { try await task.value() }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["9.0 seconds: waiter got TimeoutError"])
  }

  @Test func here1TheTimeoutCountsFromTheStart() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
    await clock.advance(by: .seconds(4))
    report { try await task.value }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["5.0 seconds: waiter got TimeoutError"])
  }

  // MARK: - 2. The work's own error is lost

  @Test func fault2TheWorksErrorBecomesALateTimeout() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { throw Failure() }
    report { try await task.value() }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["5.0 seconds: waiter got TimeoutError"])
  }

  @Test func here2TheWorksErrorArrivesAtOnce() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { throw Failure() }
    report { try await task.value }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["0.0 seconds: waiter got Failure"])
  }

  // MARK: - 3. The second who waits displaces the first

  @Test func fault3TheFirstOfTwoWaitsForEver() async {
    // In a process of its own, because the runtime complains of the continuation that is lost.
    let process = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let tests = TeachingVersionTests()
      let (clock, log) = (tests.clock, tests.log)
      let task = TeachingTimeoutTask(seconds: 5, clock: clock) {
        log.add("started")
        try await clock.sleep(for: .seconds(1))
      }
      tests.report("a") { try await task.value() }
      tests.report("b") { try await task.value() }
      await clock.advance(by: .seconds(60))
      #expect(log.all == ["started", "started", "1.0 seconds: b got ()"])
    }
    let message = String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("leaked its continuation"))
  }

  @Test func here3BothGetTheResult() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock, log] in
      log.add("started")
      try await clock.sleep(for: .seconds(1))
    }
    report("a") { try await task.value }
    report("b") { try await task.value }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["started", "1.0 seconds: a got ()", "1.0 seconds: b got ()"])
  }

  // MARK: - 4. Asking again does everything again

  @Test func fault4TheWorkRunsAgain() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [log] in log.add("started") }
    for _ in 0..<2 {
      report { try await task.value() }
      await clock.settle()
    }
    #expect(log.all.filter { $0 == "started" }.count == 2)
  }

  @Test func here4TheOutcomeStays() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [log] in log.add("started") }
    for _ in 0..<2 {
      report { try await task.value }
      await clock.settle()
    }
    #expect(log.all.filter { $0 == "started" }.count == 1)
  }

  // MARK: - 5. The timer outlives the work

  @Test func fault5TheTimerStaysOnTheClockAndEndsTheNextWait() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(4))
    }
    report("a") { try await task.value() }
    await clock.advance(by: .seconds(4))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(5)])
    report("b") { try await task.value() }
    await clock.advance(by: .seconds(60))
    // The work would have ended at 8, the timeout of b come at 9.
    #expect(log.all == ["4.0 seconds: a got ()", "5.0 seconds: b got TimeoutError"])
  }

  @Test func here5TheTimerGoesWithTheWork() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(4))
    }
    report("a") { try await task.value }
    await clock.advance(by: .seconds(4))
    #expect(clock.pendingSleeps.isEmpty)
    report("b") { try await task.value }
    await clock.settle()
    #expect(log.all == ["4.0 seconds: a got ()", "4.0 seconds: b got ()"])
  }

  // MARK: - 6. Nothing cancels the work

  @Test func fault6TheWorkGoesOnAfterTheTimeout() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [clock, log] in
      try await clock.sleep(for: .seconds(60))
      log.add("\(clock.now): work charges the card")
    }
    report { try await task.value() }
    await clock.advance(by: .seconds(60))
    #expect(
      log.all == [
        "5.0 seconds: waiter got TimeoutError", "60.0 seconds: work charges the card",
      ])
  }

  @Test func here6TheTimeoutCancelsTheWork() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock, log] in
      try await clock.sleep(for: .seconds(60))
      log.add("\(clock.now): work charges the card")
    }
    report { try await task.value }
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["5.0 seconds: waiter got TimeoutError"])
  }

  @Test func fault6TheWorkGoesOnAfterCancel() async {
    let task = TeachingTimeoutTask(seconds: 50, clock: clock) { [clock, log] in
      try await clock.sleep(for: .seconds(10))
      log.add("\(clock.now): work charges the card")
    }
    report { try await task.value() }
    await clock.settle()
    task.cancel()
    await clock.advance(by: .seconds(60))
    #expect(log.all.last == "10.0 seconds: work charges the card")
  }

  @Test func here6CancelCancelsTheWork() async {
    let task = TimeoutTask(timeout: .seconds(50), clock: clock) { [clock, log] in
      try await clock.sleep(for: .seconds(10))
      log.add("\(clock.now): work charges the card")
    }
    report { try await task.value }
    await clock.settle()
    task.cancel()
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["0.0 seconds: waiter got CancellationError"])
  }

  // MARK: - 7. cancel() is forgotten if nobody waits yet

  @Test func fault7AnEarlyCancelDoesNothing() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { 1 }
    task.cancel()
    report { try await task.value() }
    await clock.settle()
    #expect(log.all == ["0.0 seconds: waiter got 1"])
  }

  @Test func here7AnEarlyCancelCounts() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { 1 }
    task.cancel()
    report { try await task.value }
    await clock.settle()
    #expect(log.all == ["0.0 seconds: waiter got CancellationError"])
  }

  // MARK: - 8. A waiter that is cancelled waits on

  @Test func fault8ACancelledWaiterWaitsOn() async {
    let task = TeachingTimeoutTask(seconds: 5, clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
    let waiter = report { try await task.value() }
    await clock.advance(by: .seconds(1))
    waiter.cancel()
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["5.0 seconds: waiter got TimeoutError"])
  }

  @Test func here8ACancelledWaiterStopsWaiting() async {
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
      try await clock.sleep(for: .seconds(60))
    }
    let waiter = report { try await task.value }
    await clock.advance(by: .seconds(1))
    waiter.cancel()
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["1.0 seconds: waiter got CancellationError"])
  }

  // MARK: - 9. A number of seconds can stop the program

  @Test(.serialized, arguments: [-1, .infinity, .nan, 1e12] as [Double])
  func here9EverySecondsAreAllowed(_ seconds: Double) async {
    let task = TimeoutTask(seconds: seconds) { 1 }
    await report { try await task.value }.value
    #expect(["waiter got 1", "waiter got TimeoutError"].contains { log.all[0].hasSuffix($0) })
  }

  @Test func fault9ANegativeNumberOfSecondsStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = try await TeachingTimeoutTask(seconds: -1, clock: TestClock()) { 1 }.value()
    }
  }

  @Test func fault9AnInfiniteNumberOfSecondsStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = try await TeachingTimeoutTask(seconds: .infinity, clock: TestClock()) { 1 }.value()
    }
  }

  // MARK: - 10. Look, resume, clear: three steps, between which another thread may do the same

  /// An executor shows the step in between: when a task becomes ready to run, which is between
  /// `resume` and `= nil`, it first calls somebody else.
  @Test func fault10TwoResumptionsStopTheProgram() async {
    let process = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let gate = Gate()
      let task = TeachingTimeoutTask(seconds: 5, clock: TestClock()) { await gate.pass() }
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
    let gate = Gate()
    let task = TimeoutTask(seconds: 5) {
      await gate.pass()
      return 1
    }
    let isOpen = Log<Bool>()
    let executor = InterruptingExecutor {
      if isOpen.all == [true] { task.cancel() }
    }
    let value = try await withTaskExecutorPreference(executor) {
      executor.afterThisJob {
        isOpen.add(true)
        gate.open()
      }
      return try await task.value
    }
    #expect(value == 1)
  }
}
