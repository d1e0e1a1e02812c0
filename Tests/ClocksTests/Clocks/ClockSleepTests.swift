import Clocks
import Testing

@Suite struct ClockSleepTests {
  private static let forEver = Duration.seconds(Int64.max / 2)

  @Test func standsInForTaskSleep() async throws {
    var sleep: @Sendable (UInt64) async throws -> Void = Task.sleep(nanoseconds:)
    try await sleep(1)
    let clock = ImmediateClock()
    sleep = clock.sleep(nanoseconds:)
    try await sleep(5_000_000_001)
    #expect(clock.now.offset == .seconds(5) + .nanoseconds(1))

    let sleepSeconds: @Sendable (Double) async throws -> Void = clock.sleep(seconds:)
    try await sleepSeconds(0.5)
    #expect(clock.now.offset == .seconds(5) + .nanoseconds(500_000_001))
  }

  @Test func nanosecondsAreExact() async {
    let clock = TestClock()
    let task = Task { try await clock.sleep(nanoseconds: 1_500_000_000) }
    await clock.advance(by: .nanoseconds(1_499_999_999))
    #expect(clock.pendingSleeps.count == 1)
    await clock.advance(by: .nanoseconds(1))
    #expect(clock.pendingSleeps.count == 0)
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test(
    arguments: [
      (0.1, .milliseconds(100)),
      (1.5, .milliseconds(1500)),
      (1e-9, .nanoseconds(1)),
      (86400, .seconds(86400)),
      (1e18, .seconds(1_000_000_000_000_000_000)),
      (1e19, forEver),
      (.greatestFiniteMagnitude, forEver),
      (.infinity, forEver),
    ] as [(Double, Duration)])
  func secondsBecomeADeadline(seconds: Double, deadline: Duration) async {
    let clock = TestClock()
    let task = Task { try await clock.sleep(seconds: seconds) }
    await clock.settle()
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [deadline])
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(arguments: [0, -0.0, -1e-300, -3, -1e300, -Double.infinity])
  func secondsThatAreNotPositiveReturnImmediately(seconds: Double) async throws {
    let clock = TestClock<Duration>(now: .init(offset: .seconds(3)))
    try await clock.sleep(seconds: seconds)
    try await clock.sleep(nanoseconds: 0)
    #expect(clock.now.offset == .seconds(3))

    let immediate = ImmediateClock(now: .init(offset: .seconds(3)))
    try await immediate.sleep(seconds: seconds)
    #expect(immediate.now.offset == .seconds(3))
  }

  @Test(arguments: [Double.nan, .signalingNaN, -.nan])
  func aTimeThatIsNotANumberThrows(seconds: Double) async {
    let clock = ImmediateClock()
    await #expect(throws: InvalidDurationError()) { try await clock.sleep(seconds: seconds) }
    #expect(
      "\(InvalidDurationError())" == "A task cannot sleep for a time that is not a number.")
    #expect(clock.now.offset == .zero)
  }

  @Test(arguments: [Double.nan, -1, 0, 1, .infinity])
  func cancellationIsCheckedFirst(seconds: Double) async {
    let clock = UnimplementedClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(seconds: seconds)
    }
    await #expect(throws: CancellationError.self) { try await task.value }

    let other = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(nanoseconds: 1)
    }
    await #expect(throws: CancellationError.self) { try await other.value }
  }

  @Test func theLongestSleepsEndOnlyByCancellation() async {
    let clock = TestClock<Duration>(now: .init(offset: .seconds(1)))
    let seconds = Task { try await clock.sleep(seconds: .infinity) }
    let nanoseconds = Task { try await clock.sleep(nanoseconds: .max) }
    await clock.settle()
    #expect(
      clock.pendingSleeps.map(\.deadline.offset) == [
        .seconds(1) + .nanoseconds(UInt64.max), .seconds(1) + Self.forEver,
      ])
    nanoseconds.cancel()
    await clock.advance(by: Self.forEver - .seconds(1))
    #expect(clock.pendingSleeps.count == 1)
    seconds.cancel()
    await #expect(throws: CancellationError.self) { try await nanoseconds.value }
    await #expect(throws: CancellationError.self) { try await seconds.value }
  }

  /// `Task.immediate` returns when its task is suspended for the first time: in its sleep.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func theLongestSleepsDoNotTrapOnRealClocks() async {
    func check(_ clock: some Clock<Duration>) async {
      let tasks = [
        Task.immediate { try await clock.sleep(seconds: .infinity) },
        Task.immediate { try await clock.sleep(seconds: 1e300) },
        Task.immediate { try await clock.sleep(nanoseconds: .max) },
      ]
      for task in tasks {
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
    }
    await check(ContinuousClock())
    await check(SuspendingClock())
    await check(AnyClock(ContinuousClock()))
  }

  @Test func realClocksSleep() async throws {
    let clock = ContinuousClock()
    let elapsed = try await clock.measure {
      try await clock.sleep(seconds: 0.002)
      try await clock.sleep(nanoseconds: 2_000_000)
    }
    #expect(elapsed >= .milliseconds(4))
  }
}
