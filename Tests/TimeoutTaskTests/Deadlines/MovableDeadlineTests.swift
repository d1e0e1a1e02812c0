import Clocks
import Testing
import TimeoutTask

/// One test for each rule of a movable deadline.
@Suite struct MovableDeadlineTests {
  typealias Movable = MovableDeadline<TestClock<Duration>>

  let clock = TestClock()
  let log = Log<String>()

  private var deadlines: [Duration] { clock.pendingSleeps.map(\.deadline.offset) }

  /// Starts an operation that sleeps under a movable deadline, and logs its end.
  private func sleeper(_ timeout: Duration) async -> Movable {
    let (handles, continuation) = AsyncStream.makeStream(of: Movable.self)
    Task { [clock, log] in
      do {
        try await withMovableTimeout(timeout, clock: clock, name: "sleep") { deadline in
          continuation.yield(deadline)
          try await clock.sleep(for: .seconds(100))
        }
        log.add("\(clock.now.offset): done")
      } catch {
        log.add("\(clock.now.offset): \(error)")
      }
    }
    var iterator = handles.makeAsyncIterator()
    return await iterator.next()!
  }

  private func timedOut(at instant: Duration, after allowed: Duration) -> String {
    "\(instant): \(TimeoutError(timeout: allowed, operation: "sleep"))"
  }

  @Test func aDeadlineThatIsNotMovedPassesAtItsFirstInstant() async throws {
    let deadline = await sleeper(.seconds(5))
    #expect(deadline.expiration?.offset == .seconds(5))
    await clock.advance(by: .seconds(200))
    #expect(log.all == [timedOut(at: .seconds(5), after: .seconds(5))])
    try await clock.checkSuspension()
  }

  @Test func aDeadlineCanBeMovedInBothDirections() async throws {
    let deadline = await sleeper(.seconds(5))
    await clock.advance(by: .seconds(4))
    #expect(deadline.expire(after: .seconds(5)))
    #expect(deadline.expiration?.offset == .seconds(9))
    #expect(deadlines == [.seconds(9), .seconds(100)])
    await clock.advance(by: .seconds(4))
    #expect(deadline.expire(at: .init(offset: .seconds(50))))
    #expect(deadlines == [.seconds(50), .seconds(100)])
    #expect(deadline.expire(at: .init(offset: .seconds(20))))
    #expect(deadlines == [.seconds(20), .seconds(100)])
    await clock.advance(by: .seconds(200))
    #expect(log.all == [timedOut(at: .seconds(20), after: .seconds(20))])
    try await clock.checkSuspension()
  }

  @Test func aDeadlineCanBeRemovedAndSetAgain() async {
    let deadline = await sleeper(.seconds(5))
    for switchOff in [
      { deadline.neverExpire() }, { deadline.expire(after: .seconds(Int64.max)) },
      { deadline.expire(at: .init(offset: .seconds(Int64.max))) },
    ] {
      #expect(switchOff())
      #expect(deadline.expiration == nil)
      #expect(deadlines == [.seconds(100)])
      #expect(deadline.expire(after: .seconds(5)))
      #expect(deadlines == [.seconds(5), .seconds(100)])
    }
    deadline.neverExpire()
    await clock.advance(by: .seconds(200))
    #expect(log.all == ["100.0 seconds: done"])
  }

  @Test func theInstantMayBeTheFirstOfTheClock() async throws {
    let first = ContinuousClock.now.advanced(by: Duration(attoseconds: .min))
    try await withMovableDeadline(first) { deadline in
      #expect(Task.isCancelled)
      #expect(!deadline.expire(at: first))
    }
    try await withMovableTimeout(.seconds(60)) { deadline in
      #expect(deadline.expire(at: first))
      #expect(Task.isCancelled)
    }
  }

  @Test func movingToThePastCancelsTheOperationImmediately() async {
    let early = await sleeper(.seconds(5))
    #expect(early.expire(after: .zero))
    #expect(clock.pendingSleeps.isEmpty)
    await clock.settle()
    let past = await sleeper(.seconds(5))
    await clock.advance(by: .seconds(2))
    #expect(past.expire(at: .init(offset: .seconds(1))))
    await clock.settle()
    let negative = await sleeper(.seconds(5))
    #expect(negative.expire(after: .seconds(-Int64.max)))
    await clock.settle()
    #expect(
      log.all == [
        timedOut(at: .zero, after: .zero), timedOut(at: .seconds(2), after: .seconds(1)),
        timedOut(at: .seconds(2), after: .zero),
      ])
  }

  @Test func theOperationMayMoveItsDeadline() async throws {
    let isCancelled = try await withMovableTimeout(.seconds(5), clock: clock) { deadline in
      deadline.expire(after: .zero)
      return Task.isCancelled
    }
    #expect(isCancelled)
    let late = try await withMovableDeadline(clock.now, clock: clock) { deadline in
      #expect(!deadline.expire(after: .seconds(5)))
      return Task.isCancelled
    }
    #expect(late)
  }

  @Test func afterTheDeadlineOrTheOperationAMoveReturnsFalse() async throws {
    let deadline = await sleeper(.seconds(5))
    await clock.advance(by: .seconds(5))
    #expect(!deadline.expire(after: .seconds(5)))
    #expect(!deadline.neverExpire())
    let ended = try await withMovableTimeout(.seconds(5), clock: clock) { $0 }
    #expect(!ended.expire(after: .seconds(5)))
    #expect(clock.pendingSleeps.isEmpty)
    #expect(log.all == [timedOut(at: .seconds(5), after: .seconds(5))])
  }

  @Test func aDeadlineInsideAMovableOneIsAlwaysSet() async throws {
    try await withMovableTimeout(.seconds(1), clock: clock) { _ in
      try await withTimeout(.seconds(2), clock: clock) {
        #expect(deadlines == [.seconds(1), .seconds(2)])
      }
    }
    // A movable deadline is always set, even inside an earlier fixed one.
    try await withTimeout(.seconds(1), clock: clock) {
      try await withMovableTimeout(.seconds(2), clock: clock) { _ in
        #expect(deadlines == [.seconds(1), .seconds(2)])
      }
    }
  }

  @Test func theContinuousClockIsTheDefault() async throws {
    #expect(try await withMovableTimeout(.seconds(3600)) { _ in 1 } == 1)
    #expect(try await withMovableDeadline(.now + .seconds(3600)) { _ in 2 } == 2)
    #expect(try await withMovableTimeout(.seconds(Int64.max)) { $0.expiration } == nil)
    #expect(try await withMovableDeadline(.now + .seconds(Int64.max)) { $0.expiration } == nil)
    await #expect(throws: TimeoutError.self) {
      try await withMovableTimeout(.seconds(3600)) { deadline in
        deadline.expire(after: .milliseconds(3))
        try await Task.sleep(for: .seconds(3600))
      }
    }
  }

  /// Move B happens while move A reads the clock. Move B is the last one, and counts.
  @Test func aReplacedMoveDoesNotCount() async throws {
    let clock = InterruptingClock()
    let isCancelled = try await withMovableTimeout(.seconds(1), clock: clock) { deadline in
      clock.interruption.arm(afterReadings: 1) { deadline.neverExpire() }
      deadline.expire(after: .zero)
      return Task.isCancelled
    }
    #expect(!isCancelled)
  }

  /// A clock that calls a closure when it is read.
  private final class InterruptingClock: Clock {
    struct Interruption: Sendable {
      private let pending = Log<@Sendable () -> Void>()
      private let readings = Log<Void>()

      func arm(afterReadings count: Int, _ action: @escaping @Sendable () -> Void) {
        let first = readings.all.count
        pending.add { [readings] in if readings.all.count == first + count + 1 { action() } }
      }

      func read() {
        readings.add(())
        for action in pending.all { action() }
      }
    }

    let interruption = Interruption()
    var minimumResolution: Duration { .zero }

    var now: TestClock<Duration>.Instant {
      interruption.read()
      return .init()
    }

    func sleep(until deadline: TestClock<Duration>.Instant, tolerance: Duration?) async throws {
      try await HandFiredClock().sleep(for: .seconds(1))
    }
  }

  /// Threads move the deadline while it passes on another thread, and the operation ends.
  ///
  /// In each order the operation ends once, and no sleep stays on the clock.
  @Test func concurrentMovesLeaveNothingBehind() async throws {
    let threads = RacingThreads(3)
    defer { threads.end() }
    let clock = ManyTimersClock()
    var counts = (done: 0, timedOut: 0)
    for round in 0..<testCount() / 10 {
      let gate = Gate()
      let (handles, continuation) = AsyncStream.makeStream(
        of: MovableDeadline<ManyTimersClock>.self)
      let task = Task {
        try await withMovableTimeout(.seconds(60), clock: clock) { deadline in
          continuation.yield(deadline)
          await gate.pass()
          try Task.checkCancellation()
        }
      }
      var iterator = handles.makeAsyncIterator()
      let deadline = try #require(await iterator.next())
      await threads.run { thread in
        switch (thread + round) % 3 {
        case 0: for seconds in 1...4 { deadline.expire(after: .seconds(seconds)) }
        case 1:
          deadline.neverExpire()
          deadline.expire(after: round % 2 == 0 ? .zero : .seconds(1))
        default: gate.open()
        }
      }
      switch await task.result {
      case .success: counts.done += 1
      case .failure(let error):
        #expect(error is TimeoutError)
        counts.timedOut += 1
      }
      #expect(!deadline.expire(after: .zero))
    }
    try await clock.cage.waitUntilEmpty()
    #expect(counts.done > 0 && counts.timedOut > 0)
  }

  /// A clock whose time stands still. There is a canary for each of its sleeps.
  private struct ManyTimersClock: Clock {
    let cage = Canary.Cage()
    var now: TestClock<Duration>.Instant { .init() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: TestClock<Duration>.Instant, tolerance: Duration?) async throws {
      let canary = Canary(in: cage)
      defer { withExtendedLifetime(canary) {} }
      try await HandFiredClock().sleep(for: .seconds(1))
    }
  }
}
