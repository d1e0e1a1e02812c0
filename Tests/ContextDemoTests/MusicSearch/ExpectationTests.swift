import Clocks
import ClocksTestKit
import Foundation
import Testing

@testable import ContextDemo

/// The third pattern: expectations, whose timeouts are virtual.
@Suite(.virtualTime) struct ExpectationTests {
  private let time = VirtualTime.current!

  private var now: Duration { time.now.offset }

  /// Fulfills an expectation each time that a second has passed.
  private func fulfill(_ expectation: TimedExpectation, times: Int) {
    Task {
      for _ in 0..<times {
        try await Task.sleep(for: .seconds(1))
        expectation.fulfill()
      }
    }
  }

  @Test func fulfilled() async throws {
    let answer = TimedExpectation("answer")
    fulfill(answer, times: 1)
    try await answer.wait(within: .seconds(5), on: time.clock)
    #expect(now == .seconds(1))
  }

  @Test func fulfilledBeforeAnyoneWaits() async throws {
    let answer = TimedExpectation("answer")
    answer.fulfill()
    try await answer.wait(within: .seconds(5), on: time.clock)
    #expect(now == .zero)
  }

  @Test func notFulfilledInTime() async {
    let answer = TimedExpectation("answer", count: .atLeast(3))
    fulfill(answer, times: 2)
    await #expect(throws: ExpectationError(answer, happened: 2)) {
      try await answer.wait(within: .milliseconds(4500), on: time.clock)
    }
    #expect(now == .milliseconds(4500))
  }

  @Test func counted() async throws {
    let answers = TimedExpectation("answers", count: .atLeast(3))
    fulfill(answers, times: 5)
    try await answers.wait(within: .seconds(10), on: time.clock)
    #expect(now == .seconds(3))
  }

  @Test func countedExactly() async throws {
    let answers = TimedExpectation("answers", count: .exactly(3))
    fulfill(answers, times: 3)
    try await answers.wait(within: .seconds(10), on: time.clock)
    // To be sure that there is no fourth takes the whole time, and costs nothing.
    #expect(now == .seconds(10))
  }

  @Test func overfulfilled() async {
    let answers = TimedExpectation("answers", count: .exactly(3))
    fulfill(answers, times: 5)
    await #expect(throws: ExpectationError(answers, happened: 4)) {
      try await answers.wait(within: .seconds(10), on: time.clock)
    }
    #expect(now == .seconds(4))
  }

  @Test func inverted() async throws {
    let silence = TimedExpectation("silence", count: .never)
    try await silence.wait(within: .seconds(60), on: time.clock)
    #expect(now == .seconds(60))
  }

  @Test func invertedAndFulfilled() async {
    let silence = TimedExpectation("silence", count: .never)
    fulfill(silence, times: 1)
    await #expect(throws: ExpectationError(silence, happened: 1)) {
      try await silence.wait(within: .seconds(60), on: time.clock)
    }
    #expect(now == .seconds(1))
  }

  @Test func cancelled() async throws {
    let answer = TimedExpectation("answer")
    let wait = Task { try await answer.wait(within: .seconds(60), on: time.clock) }
    try await Task.sleep(for: .seconds(1))
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(now == .seconds(1))
  }

  @Test func aNotification() async throws {
    let center = NotificationCenter()
    let (posted, observation) = TimedExpectation.notification(.init("answer"), center: center)
    Task {
      try await Task.sleep(for: .seconds(1))
      center.post(name: .init("another"), object: nil)
      try await Task.sleep(for: .seconds(1))
      center.post(name: .init("answer"), object: nil)
    }
    try await posted.wait(within: .seconds(5), on: time.clock)
    #expect(now == .seconds(2))
    withExtendedLifetime(observation) {}
  }

  /// Swift Testing's own form, for callbacks that are a number of virtual seconds away.
  @Test func aConfirmation() async throws {
    try await confirmation(expectedCount: 3) { confirm in
      Task {
        for _ in 0..<3 {
          try await Task.sleep(for: .seconds(1))
          confirm()
        }
      }
      try await Task.sleep(for: .seconds(60))
    }
    #expect(now == .seconds(60))
  }
}
