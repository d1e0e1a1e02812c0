import Clocks
import TestTraits
import Testing

@testable import TimeoutTask

/// Timeouts of all lengths, from negative to infinite.
@Suite struct TimeoutLengthTests {
  let clock = TestClock()

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(-Int64.max)])
  func withoutTimeTheWorkIsStartedAndCancelled(_ timeout: Duration) async {
    let log = Log<Bool>()
    let task = TimeoutTask(timeout: timeout, clock: clock) { log.add(Task.isCancelled) }
    #expect(clock.pendingSleeps.isEmpty)
    await #expect(throws: TimeoutError(timeout: timeout)) { try await task.value }
    await clock.settle()
    #expect(log.all == [true])
  }

  @Test(arguments: [0, -0.0, -1, -.infinity, -1e300, .nan, .signalingNaN, -.leastNonzeroMagnitude])
  func withoutSecondsTheWorkIsStartedAndCancelled(_ seconds: Double) async {
    let log = Log<Bool>()
    let task = TimeoutTask(seconds: seconds) { log.add(Task.isCancelled) }
    await #expect(throws: TimeoutError(timeout: Duration(timeoutInSeconds: seconds))) {
      try await task.value
    }
    await clock.settle()
    #expect(log.all == [true])
  }

  @Test(arguments: [Double.infinity, .greatestFiniteMagnitude, 1e300, 0x1p63, 0x1p62, 1e18, 1e10])
  func hugeSecondsDoNotTrap(_ seconds: Double) async throws {
    let gate = Gate()
    let task = TimeoutTask(seconds: seconds) {
      await gate.pass()
      return 8
    }
    await clock.settle()
    gate.open()
    #expect(try await task.value == 8)
  }

  @Test func anInfiniteTimeoutNeedsNoTimer() async throws {
    let gate = Gate()
    let forEver = [
      Duration.seconds(1 << 62), .seconds(Int64.max), .seconds(Int64.max) * 4,
    ]
    for timeout in forEver {
      let task = TimeoutTask(timeout: timeout, clock: clock) { await gate.pass() }
      #expect(clock.pendingSleeps.isEmpty)
      _ = task
    }
    let task = TimeoutTask(timeout: .seconds(1 << 61), clock: clock) { await gate.pass() }
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(1 << 61)])
    gate.open()
    try await task.value
  }

  /// Neither traps.
  @Test func tolerancesAndInstantsMayBeExtreme() async throws {
    for attoseconds in [Int128.min, -1, .max] {
      let tolerance = Duration(attoseconds: attoseconds)
      try await withTimeout(.seconds(60), tolerance: tolerance) {}
      try await withTimeout(.seconds(60), tolerance: tolerance, clock: SuspendingClock()) {}
      try await TimeoutTask(timeout: .seconds(60), tolerance: tolerance) {}.value
    }
    try await withDeadline(ContinuousClock.now.advanced(by: Duration(attoseconds: .min))) {}
    try await withDeadline(
      TestClock.Instant(offset: Duration(attoseconds: .min)), clock: clock
    ) {}
  }

  /// A clock of 64 bits of nanoseconds. Its arithmetic traps 292 years before and after its origin.
  private struct ShortClock: Clock {
    struct Instant: InstantProtocol {
      var nanoseconds: Int64

      func advanced(by duration: Swift.Duration) -> Self {
        Self(nanoseconds: nanoseconds + Int64(duration.attoseconds / 1_000_000_000))
      }

      func duration(to other: Self) -> Swift.Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
      }

      static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    }

    let now = Instant(nanoseconds: 1 << 40)
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
      try await Task.sleep(for: .seconds(3600))
    }
  }

  /// No call traps.
  @Test func theRangeOfAClockMayBeShort() async throws {
    let clock = ShortClock()
    let future = clock.now.advanced(by: .seconds(60))
    #expect(try await withDeadline(future, clock: clock) { 1 } == 1)
    #expect(try await withMovableDeadline(future, clock: clock) { $0.expire(at: future) })
    for seconds: Int64 in [1, 1000, 1 << 30, 5_000_000_000] {
      let past = clock.now.advanced(by: .seconds(-seconds))
      await #expect(throws: TimeoutError.self) {
        try await withDeadline(past, clock: clock) { try Task.checkCancellation() }
      }
      #expect(
        try await withMovableDeadline(future, clock: clock) { deadline in
          deadline.expire(at: past) && Task.isCancelled
        })
    }
  }

  /// A clock of unsigned nanoseconds, which began two minutes ago. Its arithmetic traps before its origin.
  private struct YoungClock: Clock {
    struct Instant: InstantProtocol {
      var nanoseconds: UInt64

      func advanced(by duration: Swift.Duration) -> Self {
        let nanoseconds = Int64(duration.attoseconds / 1_000_000_000)
        return Self(
          nanoseconds: nanoseconds < 0
            ? self.nanoseconds - nanoseconds.magnitude : self.nanoseconds + nanoseconds.magnitude)
      }

      func duration(to other: Self) -> Swift.Duration {
        .nanoseconds(Int64(other.nanoseconds)) - .nanoseconds(Int64(nanoseconds))
      }

      static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    }

    let now = Instant(nanoseconds: 120_000_000_000)
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
      try await Task.sleep(for: .seconds(3600))
    }
  }

  /// No call traps.
  @Test func theRangeOfAClockMayBeginShortlyBeforeNow() async throws {
    let clock = YoungClock()
    for seconds in [0, 1, 59, 119, 120] {
      let past = clock.now.advanced(by: .seconds(-seconds))
      await #expect(throws: TimeoutError.self) {
        try await withDeadline(past, clock: clock) { try Task.checkCancellation() }
      }
    }
  }

  /// Where all sleeps are certainly real, timeouts take another way.
  @Test(.unless(.executorsCannotDelay))
  func inRealTimeTolerancesAndInstantsMayBeExtreme() async throws {
    await #expect(processExitsWith: .success) {
      try RealTimeTests.makeTimeReal()
      for attoseconds in [Int128.min, -1, .max] {
        let tolerance = Duration(attoseconds: attoseconds)
        try await withTimeout(.seconds(60), tolerance: tolerance) {}
        try await TimeoutTask(timeout: .seconds(60), tolerance: tolerance) {}.value
      }
      let past = ContinuousClock.now.advanced(by: Duration(attoseconds: .min))
      try await withDeadline(past) {}
    }
  }

  @Test func secondsBecomeADuration() {
    #expect(Duration(timeoutInSeconds: 0.25) == .milliseconds(250))
    #expect(Duration(timeoutInSeconds: 3) == .seconds(3))
    #expect(Duration(timeoutInSeconds: -3) == .seconds(-3))
    #expect(Duration(timeoutInSeconds: .nan) == .zero)
    #expect(Duration(timeoutInSeconds: .infinity) == .forEver)
    #expect(Duration(timeoutInSeconds: -.infinity) == .zero - .forEver)
  }

  @Test func aClockMayHaveItsOwnDurationType() async {
    let clock = TestClock<Beats>()
    let task = TimeoutTask(timeout: Beats(count: 3), clock: clock) {
      try await clock.sleep(for: Beats(count: 4))
    }
    await clock.advance(by: Beats(count: 2))
    #expect(clock.pendingSleeps.count == 2)
    await clock.advance(by: Beats(count: 1))
    await #expect(throws: TimeoutError(timeout: Beats(count: 3))) { try await task.value }
  }

  @Test func withTimeoutTakesSeconds() async throws {
    try await withVirtualTime {
      await #expect(throws: TimeoutError(timeout: .seconds(2.5), operation: "wait")) {
        try await withTimeout(seconds: 2.5, name: "wait") {
          try await Task.sleep(for: .seconds(60))
        }
      }
      #expect(VirtualTime.current?.now == .seconds(2.5))
      #expect(try await withTimeout(seconds: .infinity) { 8 } == 8)
      let late: Int? = try await withTimeoutOrNil(seconds: 1) {
        try await Task.sleep(for: .seconds(60))
        return 8
      }
      #expect(late == nil)
      #expect(VirtualTime.current?.now == .seconds(3.5))
    }
  }

  @Test func theLabelOfSE0526IsAccepted() async throws {
    let now = clock.now
    #expect(try await withDeadline(now + .seconds(1), clock: clock, body: { 1 }) == 1)
    #expect(try await withDeadline(in: .seconds(1), clock: clock, body: { 2 }) == 2)
    #expect(try await withDeadline(.now + .seconds(60), body: { 3 }) == 3)
    #expect(try await withDeadline(in: .seconds(60), body: { 4 }) == 4)
    // Without a label the call is not ambiguous.
    #expect(try await withDeadline(in: .seconds(60)) { 5 } == 5)
  }

  @Test func aCancelledCallerWithoutTimeGetsATimeoutError() async {
    let task = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await withTimeout(.zero, clock: clock) { try Task.checkCancellation() }
    }
    await #expect(throws: TimeoutError.self) { try await task.value }
    let inTime = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await withTimeout(.seconds(1), clock: clock) { try Task.checkCancellation() }
    }
    await #expect(throws: CancellationError.self) { try await inTime.value }
  }

  @Test func aSequenceWithoutTimeDeliversWhatIsReady() async throws {
    let ready = AsyncStream<Int> { continuation in
      continuation.yield(1)
      continuation.yield(2)
    }
    var elements: [Int] = []
    await #expect(throws: TimeoutError.self) {
      for try await element in ready.timeout(.zero, clock: clock) { elements.append(element) }
    }
    #expect(elements == [1, 2])
  }
}
