import Clocks
import Dispatch
import Foundation
import Testing
import XCTest

/// Tries something until it succeeds, and waits longer each time.
struct Retry: Sendable {
  let clock: any Clock<Duration>
  let attempts: Int

  func callAsFunction<Value: Sendable>(
    _ work: @Sendable (_ attempt: Int) async throws -> Value
  ) async throws -> Value {
    for attempt in 1..<attempts {
      do { return try await work(attempt) } catch is CancellationError {
        throw CancellationError()
      } catch {
        try await clock.sleep(for: .seconds(1 << (attempt - 1)))
      }
    }
    return try await work(attempts)
  }
}

struct Unreachable: Error {}

/// What was answered, on any thread.
final class Answers: @unchecked Sendable {
  private let lock = NSLock()
  private var answers: [String] = []

  var all: [String] { lock.withLock { answers } }

  func add(_ answer: String) { lock.withLock { answers.append(answer) } }
}

@Suite struct TestClockGuide {
  @Test func waitsLongerEachTime() async throws {
    let clock = TestClock()
    let retry = Retry(clock: clock, attempts: 4)
    let task = Task {
      try await retry { attempt in
        if attempt < 4 { throw Unreachable() }
        return "connected after \(clock.now)"
      }
    }
    await clock.run()
    #expect(try await task.value == "connected after 7.0 seconds")
  }

  @Test func stopsWaitingWhenItIsCancelled() async throws {
    let clock = TestClock()
    let retry = Retry(clock: clock, attempts: 10)
    let task = Task { try await retry { _ -> String in throw Unreachable() } }
    await clock.advance(by: .seconds(2))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(3)])

    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await clock.checkSuspension()
  }

  @Test func waitsForTheQueue() async throws {
    let clock = TestClock()
    let legacy = DispatchQueue(label: "legacy")
    let answers = Answers()
    let task = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        legacy.async { answers.add("\(clock.now)") }
      }
    }
    await clock.advance(by: .seconds(2))
    #expect(answers.all == ["1.0 seconds", "2.0 seconds"])
    task.cancel()
  }

  @Test func callsBackFromAThread() async throws {
    let clock = TestClock()
    Thread.detachNewThread {
      Task { try await clock.sleep(for: .seconds(1)) }
    }
    // The thread is not the test's: wait until its work has reached the clock.
    try await clock.waitForSleeps()
    await clock.advance(by: .seconds(1))
    try await clock.checkSuspension()
  }
}

final class RetryTests: XCTestCase {
  let clock = TestClock()

  func testGivesUp() async {
    let retry = Retry(clock: clock, attempts: 2)
    let task = Task { try await retry { _ -> String in throw Unreachable() } }
    await clock.advance(by: .seconds(1))
    let result = await task.result
    XCTAssertThrowsError(try result.get())
  }
}
