import Clocks
import Testing
import TimeoutTask

// The later examples in Docs/TimeoutTask.md.

@Suite struct DeadlineGuideExample {
  let clock = TestClock()

  @Test func theErrorOfALibraryIsInsideTheTimeoutError() async throws {
    let clock = clock
    let client = Server {
      do { try await clock.sleep(for: .seconds(60)) } catch { throw Offline() }
      return []
    }
    let task = Task {
      do {
        return try await withTimeout(.seconds(3), clock: clock) { try await client.headlines() }
      } catch let error as TimeoutError {
        return ["Try again later: \(error.underlyingError is Offline)"]
      }
    }
    await clock.advance(by: .seconds(3))
    #expect(try await task.value == ["Try again later: true"])
  }

  @Test func severalReadersShareAResult() async throws {
    let clock = clock
    let server = Server {
      try await clock.sleep(for: .seconds(2))
      return ["Clocks agree"]
    }
    let headlines = TimeoutTask(timeout: .seconds(3), clock: clock, endsWithLastWaiter: false) {
      try await server.headlines()
    }
    let reader = Task { try await headlines.value }
    await clock.advance(by: .seconds(1))
    reader.cancel()
    await clock.advance(by: .seconds(1))
    #expect(try await headlines.value == ["Clocks agree"])
  }

  @Test func aCalledFunctionCanAskForTheRemainingTime() async throws {
    /// Tells the server how long the client waits.
    @Sendable func request() -> String {
      guard let remaining = Deadline.remaining(on: clock) else { return "GET /" }
      return "GET /, Timeout: \(remaining)"
    }
    #expect(request() == "GET /")
    let task = Task {
      try await withTimeout(.seconds(5), clock: clock) {
        try await clock.sleep(for: .seconds(2))
        async let inChildTask = request()
        return await inChildTask
      }
    }
    await clock.advance(by: .seconds(2))
    #expect(try await task.value == "GET /, Timeout: 3.0 seconds")
  }

  @Test func anOptionalResultIsAwaitedForAShortTime() async throws {
    let clock = clock
    let server = Server {
      try await clock.sleep(for: .seconds(60))
      return ["Clocks agree"]
    }
    let task = Task {
      try await withTimeoutOrNil(.milliseconds(200), clock: clock) {
        try await server.headlines()
      } ?? []
    }
    await clock.advance(by: .milliseconds(200))
    #expect(try await task.value == [])
  }

  @Test func aSilentSocketIsNoticed() async throws {
    let clock = clock
    let log = Log<String>()
    let (messages, continuation) = AsyncStream.makeStream(of: String.self)
    let task = Task {
      for try await message in messages.timeout(.seconds(30), clock: clock, name: "heartbeat") {
        log.add(message)
      }
    }
    for _ in 0..<2 {
      await clock.advance(by: .seconds(20))
      continuation.yield("tick")
    }
    await clock.advance(by: .seconds(30))
    await #expect(throws: TimeoutError(timeout: .seconds(30), operation: "heartbeat")) {
      try await task.value
    }
    #expect(log.all == ["tick", "tick"])
  }

  @Test func progressGivesMoreTime() async throws {
    let clock = clock
    let file = Log<Int>()
    let (chunks, network) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      try await withMovableTimeout(.seconds(10), clock: clock, name: "download") { deadline in
        for await chunk in chunks {
          file.add(chunk)
          deadline.expire(after: .seconds(10))
        }
        try Task.checkCancellation()
      }
    }
    for chunk in 1...5 {
      await clock.advance(by: .seconds(8))
      network.yield(chunk)
    }
    await clock.advance(by: .seconds(60))
    await #expect(throws: TimeoutError(timeout: .seconds(50), operation: "download")) {
      try await task.value
    }
    #expect(file.all == [1, 2, 3, 4, 5])
  }

  @Test func anUnstructuredTaskMayInheritTheDeadline() async throws {
    let clock = clock
    let upload = try await withTimeout(.seconds(5), clock: clock) {
      Task.inheritingDeadline(name: "upload") {
        try await clock.sleep(for: .seconds(60))
      }
    }
    await clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError(timeout: .seconds(5), operation: "upload")) {
      try await upload.value
    }
  }

  /// A generator that returns the same numbers in each run.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }

  @Test func aServerThatIsOverloadedIsAskedAgain() async throws {
    let (clock, attempts) = (clock, Log<Duration>())
    let server = Server {
      attempts.add(clock.now.offset)
      if attempts.all.count < 4 { throw Offline() }
      return ["Clocks agree"]
    }
    let backoff = Backoff.exponential(from: .seconds(1), upTo: .seconds(8))
    let task = Task {
      var dice = Dice(state: 0)
      return try await withTimeout(.seconds(30), clock: clock) {
        try await withRetry(attempts: 5, backoff: backoff, clock: clock, using: &dice) {
          try await withTimeout(.seconds(3), clock: clock) { try await server.headlines() }
        }
      }
    }
    await clock.advance(by: .seconds(30))
    #expect(try await task.value == ["Clocks agree"])

    // Three pauses of at most 1, 2 and 4 seconds, to the attosecond.
    var (dice, instant) = (Dice(state: 0), Duration.zero)
    for failures in 1...3 {
      instant += backoff.delay(afterFailures: failures, using: &dice)
      #expect(attempts.all[failures] == instant)
    }
  }
}
