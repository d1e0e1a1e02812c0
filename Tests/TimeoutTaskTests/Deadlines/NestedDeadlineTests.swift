import Clocks
import Testing
import TimeoutTask

/// Nested deadlines: the earliest wins, and one that cannot pass first is not set.
@Suite struct NestedDeadlineTests {
  let clock = TestClock()
  let log = Log<String>()

  /// Sleeps inside two nested timeouts, and logs the error of each.
  private func nest(_ outer: Duration, _ inner: Duration) -> Task<Void, Never> {
    Task { [clock, log] in
      do {
        try await withTimeout(outer, clock: clock, name: "outer") {
          do {
            try await withTimeout(inner, clock: clock, name: "inner") {
              log.add("\(clock.pendingSleeps.count) timers")
              try await clock.sleep(for: .seconds(100))
            }
          } catch let error as TimeoutError {
            log.add("\(clock.now): \(error.operation ?? "") inside")
            try Task.checkCancellation()
          }
        }
      } catch let error as TimeoutError {
        log.add("\(clock.now): \(error.operation ?? "") outside")
      } catch {
        log.add("\(error)")
      }
    }
  }

  @Test func anEarlierInnerDeadlineWins() async {
    let task = nest(.seconds(3), .seconds(2))
    await clock.advance(by: .seconds(10))
    #expect(log.all == ["2 timers", "2.0 seconds: inner inside"])
    _ = task
  }

  @Test func anEarlierOuterDeadlineWinsAndTheInnerIsNotSet() async {
    let task = nest(.seconds(2), .seconds(3))
    await clock.advance(by: .seconds(10))
    #expect(log.all == ["1 timers", "2.0 seconds: outer outside"])
    _ = task
  }

  @Test func ofEqualDeadlinesTheOuterWins() async {
    let task = nest(.seconds(2), .seconds(2))
    await clock.advance(by: .seconds(10))
    #expect(log.all == ["1 timers", "2.0 seconds: outer outside"])
    _ = task
  }

  /// The instants for which the clock has sleeps.
  private var deadlines: [Duration] { clock.pendingSleeps.map(\.deadline.offset) }

  @Test func theEarliestOfSeveralDeadlinesIsSet() async throws {
    try await withTimeout(.seconds(9), clock: clock) {
      try await withTimeout(.seconds(5), clock: clock) {
        try await withTimeout(.seconds(7), clock: clock) {
          #expect(deadlines == [.seconds(5), .seconds(9)])
          try await withTimeout(.seconds(3), clock: clock) {
            #expect(deadlines == [.seconds(3), .seconds(5), .seconds(9)])
          }
        }
      }
      // The inner deadlines have ended.
      try await withTimeout(.seconds(7), clock: clock) {
        #expect(deadlines == [.seconds(7), .seconds(9)])
      }
    }
  }

  @Test func deadlinesOnClocksWithDifferentIDsAreIndependent() async throws {
    let other = TestClock()
    try await withTimeout(.seconds(1), clock: other) {
      try await withTimeout(.seconds(2), clock: clock) {
        #expect(deadlines == [.seconds(2)])
        // The deadline on the same clock is not the innermost one.
        try await withTimeout(.seconds(3), clock: other) {
          #expect(other.pendingSleeps.map(\.deadline.offset) == [.seconds(1)])
        }
      }
    }
  }

  @Test func theFirstClockToComeToItsDeadlineCancels() async {
    let other = TestClock()
    let task = Task { [clock] in
      try await withTimeout(.seconds(1), clock: clock, name: "outer") {
        try await withTimeout(.seconds(5), clock: other, name: "inner") {
          try await clock.sleep(for: .seconds(100))
        }
      }
    }
    await other.advance(by: .seconds(5))
    await #expect(throws: TimeoutError(timeout: .seconds(5), operation: "inner")) {
      try await task.value
    }
  }

  @Test func twoContinuousClocksAreTheSameClock() async throws {
    let outer = ContinuousClock.now + .seconds(3600)
    try await withDeadline(outer, name: "outer") {
      try await withDeadline(outer + .seconds(1), name: "inner") {
        // A deadline that is not set makes no task, so its name is not used.
        #expect(Task.name == "outer")
      }
      try await withTimeout(.seconds(7200), clock: .suspending, name: "inner") {
        #expect(Task.name == "inner")
      }
    }
  }

  @Test func aClockThatIsNotIdentifiableIsNeverTheSame() async throws {
    let clock = NamelessClock()
    try await withTimeout(.seconds(3600), clock: clock, name: "outer") {
      try await withTimeout(.seconds(7200), clock: clock, name: "inner") {
        #expect(Task.name == "inner")
      }
    }
  }

  private struct NamelessClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
  }

  // MARK: - Tolerance

  /// Sets a deadline inside another one, and returns the number of sleeps on the clock.
  private func timers(
    _ outer: Duration, tolerance outerTolerance: Duration?,
    _ inner: Duration, tolerance innerTolerance: Duration?
  ) async throws -> Int {
    try await withTimeout(outer, tolerance: outerTolerance, clock: clock) {
      try await withTimeout(inner, tolerance: innerTolerance, clock: clock) {
        clock.pendingSleeps.count
      }
    }
  }

  /// A clock that uses the outer tolerance would let the inner deadline pass too late.
  @Test func aStrictDeadlineInsideATolerantOneIsSet() async throws {
    #expect(
      try await timers(.seconds(1), tolerance: .seconds(20), .seconds(2), tolerance: nil) == 2)
    #expect(
      try await timers(.seconds(1), tolerance: .seconds(2), .seconds(2), tolerance: .zero) == 2)
    #expect(
      try await timers(
        .seconds(1), tolerance: .seconds(Int64.max), .seconds(2), tolerance: .seconds(1)) == 2)
  }

  /// A clock that uses all of the tolerance.
  private struct TolerantClock: Clock, Identifiable {
    let base: TestClock<Duration>
    var id: Int { 1 }
    var now: TestClock<Duration>.Instant { base.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: TestClock<Duration>.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline.advanced(by: tolerance ?? .zero))
    }
  }

  @Test func aStrictDeadlineInsideATolerantOneIsInTimeOnATolerantClock() async {
    let late = TolerantClock(base: clock)
    let task = Task { [clock, log] in
      try? await withTimeout(.milliseconds(100), tolerance: .seconds(2), clock: late) {
        try? await withTimeout(.milliseconds(150), clock: late) {
          try? await clock.sleep(for: .seconds(5))
        }
        log.add("inner: \(clock.now)")
        try? await clock.sleep(for: .seconds(5))
        log.add("outer: \(clock.now)")
      }
    }
    await clock.advance(by: .seconds(10))
    #expect(log.all == ["inner: 0.15 seconds", "outer: 2.1 seconds"])
    await task.value
  }

  /// The outer deadline has passed, but its timer has not.
  @Test func withoutTimeABodyBeginsCancelledInsideATolerantDeadline() async throws {
    let late = TolerantClock(base: clock)
    let task = Task { [clock] in
      try await withTimeout(.seconds(1), tolerance: .seconds(1), clock: late) {
        try await clock.sleep(for: .milliseconds(1500))
        return try await withTimeout(.zero, tolerance: .seconds(1), clock: late) {
          Task.isCancelled
        }
      }
    }
    await clock.advance(by: .seconds(10))
    #expect(try await task.value)
  }

  @Test func aDeadlineInsideATolerantOneIsNotSetIfThatIsEarlyEnough() async throws {
    #expect(
      try await timers(.seconds(1), tolerance: .seconds(1), .seconds(2), tolerance: nil) == 1)
    #expect(
      try await timers(.seconds(1), tolerance: .seconds(9), .seconds(2), tolerance: .seconds(9))
        == 1)
    #expect(
      try await timers(
        .seconds(1), tolerance: .seconds(Int64.max), .seconds(2), tolerance: .seconds(Int64.max))
        == 1)
  }

  /// The innermost deadline is tolerant; the strict one around it counts.
  @Test func anyOuterDeadlineMayMakeAnInnerOneUnnecessary() async throws {
    let count = try await withTimeout(.seconds(5), clock: clock) {
      try await timers(.seconds(4), tolerance: .seconds(60), .seconds(6), tolerance: nil)
    }
    #expect(count == 2)
  }

  // MARK: - Tasks that are started inside

  /// An unstructured task inherits task-local values, but no deadline cancels it. So an earlier
  /// deadline of the task that starts it does not count.
  @Test func anUnstructuredTaskInsideADeadlineSetsItsOwn() async throws {
    let task = Task { [clock, log] in
      try await withTimeout(.seconds(1), clock: clock, name: "outer") {
        let inside = Task {
          do {
            try await withTimeout(.seconds(5), clock: clock, name: "inner") {
              try await clock.sleep(for: .seconds(100))
            }
          } catch {
            log.add("\(clock.now): \(error)")
          }
        }
        await inside.value
      }
    }
    await clock.advance(by: .seconds(10))
    try await task.value
    #expect(log.all == ["5.0 seconds: \(TimeoutError(timeout: .seconds(5), operation: "inner"))"])
  }

  @Test func anUnstructuredTaskThatOutlivesADeadlineSetsItsOwn() async throws {
    let gate = Gate()
    let task = try await withTimeout(.seconds(1), clock: clock, name: "outer") {
      Task { [clock] in
        await gate.pass()
        try await withTimeout(.seconds(5), clock: clock, name: "inner") {
          try await clock.sleep(for: .seconds(100))
        }
      }
    }
    gate.open()
    await clock.advance(by: .seconds(10))
    await #expect(throws: TimeoutError(timeout: .seconds(5), operation: "inner")) {
      try await task.value
    }
  }

  @Test func aTimeoutTaskInsideIsUnderItsOwnTimeoutOnly() async throws {
    let gate = Gate()
    let task = try await withTimeout(.seconds(1), clock: clock) {
      TimeoutTask(timeout: .seconds(5), clock: clock) { [clock] in
        await gate.pass()
        try await withTimeout(.seconds(3), clock: clock, name: "inner") {
          try await clock.sleep(for: .seconds(100))
        }
      }
    }
    gate.open()
    await clock.advance(by: .seconds(10))
    await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "inner")) {
      try await task.value
    }
  }

  /// The outer deadline cancels child tasks with the body, so it counts there too.
  @Test func aDeadlineInAChildTaskIsNotSetIfTheOuterOneIsEarlier() async throws {
    try await withTimeout(.seconds(1), clock: clock) {
      async let later = withTimeout(.seconds(2), clock: clock) { clock.pendingSleeps.count }
      #expect(try await later == 1)
      async let earlier = withTimeout(.milliseconds(1), clock: clock) { clock.pendingSleeps.count }
      #expect(try await earlier == 2)
      let inGroup = try await withThrowingTaskGroup(of: Int.self) { [clock] group in
        group.addTask {
          try await withTimeout(.seconds(2), clock: clock) { clock.pendingSleeps.count }
        }
        return try await group.next()
      }
      #expect(inGroup == 1)
    }
  }

  @Test func aChildTaskInsideIsCancelledByTheOuterDeadline() async {
    let task = Task { [clock] in
      try await withTimeout(.seconds(1), clock: clock, name: "outer") {
        async let child: Void = withTimeout(.seconds(5), clock: clock, name: "inner") {
          try await clock.sleep(for: .seconds(100))
        }
        try await child
      }
    }
    await clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError(timeout: .seconds(1), operation: "outer")) {
      try await task.value
    }
  }
}
