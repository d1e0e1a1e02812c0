import Clocks
import Testing
import TimeoutTask

/// The current deadline and the remaining time.
@Suite struct DeadlineTests {
  let clock = TestClock()

  private var current: Duration? { Deadline.current(on: clock)?.offset }

  @Test func withoutADeadlineTheAnswerIsNil() {
    #expect(current == nil)
    #expect(Deadline.remaining(on: clock) == nil)
    #expect(Deadline.current() == nil)
  }

  @Test func theOperationCanReadItsDeadlineAndTheRemainingTime() async throws {
    let task = Task { [clock] in
      try await withTimeout(.seconds(5), clock: clock) {
        #expect(current == .seconds(5))
        #expect(Deadline.remaining(on: clock) == .seconds(5))
        try await clock.sleep(for: .seconds(2))
        #expect(current == .seconds(5))
        #expect(Deadline.remaining(on: clock) == .seconds(3))
        try? await clock.sleep(for: .seconds(60))
        #expect(current == .seconds(5))
        #expect(Deadline.remaining(on: clock) == .zero)
      }
      #expect(current == nil)
    }
    await clock.advance(by: .seconds(60))
    try await task.value
  }

  @Test func aDeadlineOnAnErasedClockIsFound() async throws {
    let erased = AnyClock(clock)
    let task = Task { [clock] in
      try await withTimeout(.seconds(5), clock: erased) {
        try await clock.sleep(for: .seconds(2))
        #expect(Deadline.remaining(on: erased) == .seconds(3))
        #expect(Deadline.current(on: AnyClock(clock)) == erased.now + .seconds(3))
        #expect(Deadline.remaining(on: AnyClock(TestClock())) == nil)
      }
    }
    await clock.advance(by: .seconds(2))
    try await task.value
  }

  @Test func theCurrentDeadlineIsTheEarliest() async throws {
    try await withTimeout(.seconds(5), clock: clock) {
      try await withTimeout(.seconds(3), clock: clock) { #expect(current == .seconds(3)) }
      try await withTimeout(.seconds(9), clock: clock) { #expect(current == .seconds(5)) }
      try await withMovableTimeout(.seconds(9), clock: clock) { deadline in
        #expect(current == .seconds(5))
        deadline.expire(after: .seconds(1))
        #expect(current == .seconds(1))
        deadline.neverExpire()
        #expect(current == .seconds(5))
      }
    }
  }

  @Test func deadlinesOnOtherClocksAreIgnored() async throws {
    let other = TestClock()
    try await withTimeout(.seconds(3), clock: clock) {
      try await withTimeout(.seconds(2), clock: other) {
        #expect(current == .seconds(3))
        #expect(Deadline.current(on: other)?.offset == .seconds(2))
        #expect(Deadline.current() == nil)
        #expect(Deadline.current(on: .suspending) == nil)
      }
    }
    let instant = ContinuousClock.now + .seconds(3600)
    try await withDeadline(instant) {
      #expect(Deadline.current() == instant)
      let remaining = try #require(Deadline.remaining())
      #expect(remaining > .seconds(3000) && remaining <= .seconds(3600))
    }
  }

  @Test func aPassedDeadlineIsStillTheDeadline() async throws {
    await clock.advance(by: .seconds(5))
    try await withTimeout(.seconds(-1), clock: clock) {
      #expect(current == .seconds(5))
      #expect(Deadline.remaining(on: clock) == .zero)
    }
  }

  @Test func anInfiniteTimeoutSetsNoDeadline() async throws {
    try await withTimeout(.seconds(Int64.max), clock: clock) { #expect(current == nil) }
  }

  @Test func theWorkOfATimeoutTaskKnowsItsDeadline() async throws {
    let deadlines = try await withTimeout(.seconds(3), clock: clock) {
      try await TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
        async let inChild = Deadline.current(on: clock)?.offset
        return [Deadline.current(on: clock)?.offset, await inChild]
      }.value
    }
    #expect(deadlines == [.seconds(5), .seconds(5)])
    let none = TimeoutTask(timeout: .seconds(Int64.max), clock: clock) { [clock] in
      Deadline.current(on: clock)
    }
    #expect(try await none.value == nil)
  }

  // MARK: - Tasks that are started inside

  @Test func aTaskThatOutlivesTheDeadlinesScopeHasNone() async throws {
    let gate = Gate()
    let task = try await withTimeout(.seconds(5), clock: clock) {
      Task { [clock] in
        await gate.pass()
        async let child = Deadline.current(on: clock)
        return await [Deadline.current(on: clock), child]
      }
    }
    gate.open()
    #expect(await task.value == [nil, nil])
  }

  // MARK: - Inheritance

  private func sleeper(_ log: Log<String>) -> Task<Void, any Error> {
    Task.inheritingDeadline(name: "upload") { [clock] in
      do {
        try await clock.sleep(for: .seconds(60))
      } catch {
        log.add("\(clock.now.offset), \(Task.name ?? "")")
        throw error
      }
    }
  }

  @Test func anInheritingTaskIsCancelledAtTheDeadlineAfterItsStarterHasEnded() async throws {
    let log = Log<String>()
    let task = try await withTimeout(.seconds(5), clock: clock) {
      #expect(clock.pendingSleeps.count == 1)
      return sleeper(log)
    }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(5), .seconds(60)])
    await clock.advance(by: .seconds(60))
    await #expect(throws: TimeoutError(timeout: .seconds(5), operation: "upload")) {
      try await task.value
    }
    #expect(log.all == ["5.0 seconds, upload"])
  }

  @Test func anInheritingTaskHasTheEarliestDeadlineOfEachClock() async throws {
    let other = TestClock()
    let log = Log<String>()
    let task = try await withTimeout(.seconds(5), clock: clock) {
      try await withTimeout(.seconds(3), clock: clock) {
        try await withTimeout(.seconds(2), clock: other) { sleeper(log) }
      }
    }
    await clock.settle()
    #expect(other.pendingSleeps.map(\.deadline.offset) == [.seconds(2)])
    let deadlines = clock.pendingSleeps.map(\.deadline.offset)
    #expect(deadlines == [.seconds(3), .seconds(5), .seconds(60)])
    await other.advance(by: .seconds(2))
    await #expect(throws: TimeoutError(timeout: .seconds(2), operation: "upload")) {
      try await task.value
    }
    try await clock.checkSuspension()
  }

  @Test func withoutADeadlineAnInheritingTaskIsLikeATask() async throws {
    let task = Task.inheritingDeadline { [clock] in (Deadline.current(on: clock), Task.name) }
    let (deadline, name) = try await task.value
    #expect(deadline == nil && name == nil)
    await #expect(throws: Failure.self) {
      try await Task<Int, any Error>.inheritingDeadline { throw Failure() }.value
    }
  }

  @Test func anInheritingTaskPassesTheDeadlineOn() async throws {
    let task = try await withTimeout(.seconds(5), clock: clock) {
      Task.inheritingDeadline { [clock] in
        await Task.inheritingDeadline { Deadline.current(on: clock)?.offset }.result
      }
    }
    #expect(try await task.value.get() == .seconds(5))
  }

  @Test @MainActor func anInheritingTaskHasTheIsolationOfItsContext() async throws {
    var count = 0
    let tasks = try await withTimeout(.seconds(5), clock: clock) {
      (0..<10).map { number in
        Task.inheritingDeadline {
          MainActor.preconditionIsolated()
          #expect(count == number)
          count += 1
        }
      }
    }
    for task in tasks { try await task.value }
    #expect(count == 10)
  }
}
