import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

/// Expectations with virtual timeouts.
@Suite(.virtualTime) struct TimedExpectationTests {
  private let time = VirtualTime.current!

  private var now: Duration { time.now.offset }

  /// Fulfills an expectation once a second.
  private func fulfill(_ expectation: TimedExpectation, times: Int) {
    Task {
      for _ in 0..<times {
        try await Task.sleep(for: .seconds(1))
        expectation.fulfill()
      }
    }
  }

  // MARK: - Counts

  @Test func fulfilled() async {
    let answer = TimedExpectation("answer")
    fulfill(answer, times: 1)
    #expect(await answer.wait(within: .seconds(5)) == .seconds(1))
    #expect(now == .seconds(1))
  }

  @Test func fulfilledBeforeTheWait() async {
    let answer = TimedExpectation("answer")
    answer.fulfill()
    #expect(await answer.wait(within: .seconds(5)) == .zero)
    #expect(now == .zero)
  }

  @Test func fulfilledAtTheLimit() async {
    let answer = TimedExpectation("answer", expectedCount: 2...)
    fulfill(answer, times: 2)
    #expect(await answer.wait(within: .seconds(2)) == .seconds(2))
  }

  @Test func notFulfilledInTime() async throws {
    let answer = TimedExpectation("answer", expectedCount: 3...)
    fulfill(answer, times: 5)
    let line = #line + 2
    let failures = try await failures {
      #expect(await answer.wait(within: .milliseconds(2500)) == nil)
    }
    #expect(
      failures == [
        Failure(
          text: """
            Expected "answer" to be fulfilled at least 3 times within 2.5 seconds, but it was fulfilled 2 \
            times.
            VirtualTime at 2.5 seconds, 1 pending sleep:
              - until 3.0 seconds, since 2.0 seconds, task #
            """, line: line)
      ])
    #expect(now == .milliseconds(2500))
  }

  @Test func counted() async {
    let answers = TimedExpectation("answers", expectedCount: 3...)
    fulfill(answers, times: 5)
    #expect(await answers.wait(within: .seconds(10)) == .seconds(3))
    #expect(answers.count == 3)
  }

  @Test func countedExactly() async {
    let answers = TimedExpectation("answers", expectedCount: 3)
    fulfill(answers, times: 3)
    // The wait lasts until the limit, to exclude a fourth event; that takes no real time.
    #expect(await answers.wait(within: .seconds(10)) == .seconds(10))
    #expect(now == .seconds(10))
  }

  @Test func overfulfilled() async throws {
    let answers = TimedExpectation("answers", expectedCount: 3)
    fulfill(answers, times: 5)
    let failures = try await failures {
      await answers.wait(within: .seconds(10))
    }
    #expect(
      failures.map(\.text) == [
        """
        Expected "answers" to be fulfilled exactly 3 times within 10.0 seconds, but it was fulfilled 4 times \
        after 4.0 seconds.
        VirtualTime at 4.0 seconds, 1 pending sleep:
          - until 5.0 seconds, since 4.0 seconds, task #
        """
      ])
    #expect(now == .seconds(4))
  }

  @Test func inverted() async {
    let silence = TimedExpectation("silence", expectedCount: 0)
    #expect(await silence.wait(within: .seconds(60)) == .seconds(60))
    #expect(now == .seconds(60))
  }

  @Test func invertedAndFulfilled() async throws {
    let silence = TimedExpectation("silence", expectedCount: 0)
    fulfill(silence, times: 1)
    let failures = try await failures {
      await silence.wait(within: .seconds(60))
    }
    #expect(
      failures.map(\.text) == [
        """
        Expected "silence" to be fulfilled never within 60.0 seconds, but it was fulfilled 1 time after 1.0 \
        seconds.
        VirtualTime at 1.0 seconds, no pending sleep
        """
      ])
    #expect(now == .seconds(1))
  }

  /// The outcome of an expected count of two to five, for an actual count.
  @Test func aRange() async throws {
    for (times, complaint) in [
      (1, "but it was fulfilled 1 time."), (2, nil), (3, nil), (5, nil),
      (6, "but it was fulfilled 6 times after 6.0 seconds."),
    ] {
      try await expect(2...5, times, complaint)
      try await expect(2..<6, times, complaint)
    }
  }

  private func expect(
    _ range: some RangeExpression<Int> & Sequence<Int> & Sendable, _ times: Int,
    _ complaint: String?
  ) async throws {
    let answers = TimedExpectation(expectedCount: range)
    fulfill(answers, times: times)
    let begin = now
    let failures = try await failures {
      await answers.wait(within: .seconds(10))
    }
    #expect(now - begin == .seconds(times == 6 ? 6 : 10))
    let expected = complaint.map {
      "Expected the expectation to be fulfilled 2 to 5 times within 10.0 seconds, \($0)"
    }
    let first = failures.map { String($0.text.prefix { $0 != "\n" }) }
    #expect(first == [expected].compactMap(\.self))
  }

  @Test func noRangeTraps() async throws {
    let none = TimedExpectation(expectedCount: Int.min..<Int.min)
    let found = try await failures { await none.wait(within: .seconds(1)) }
    #expect(
      found.map { String($0.text.prefix { $0 != "\n" }) } == [
        "Expected the expectation to be fulfilled exactly \(Int.min) times within 1.0 seconds, but it was fulfilled "
          + "0 times after 0.0 seconds."
      ])
    #expect(now == .zero)
  }

  @Test func continuesToCountInAnotherWait() async throws {
    let answers = TimedExpectation(expectedCount: 0...3)
    fulfill(answers, times: 4)
    #expect(await answers.wait(within: .seconds(2)) == .seconds(2))
    #expect(await answers.wait(within: .seconds(1)) == .seconds(1))
    let failures = try await failures {
      await answers.wait(within: .seconds(10))
    }
    #expect(failures.count == 1)
    #expect(now == .seconds(4))
  }

  @Test func eventsBeyondTheLimitDoNotCount() async {
    let answers = TimedExpectation(expectedCount: 3)
    fulfill(answers, times: 4)
    let advance = Task { await time.advance(by: .seconds(10)) }
    #expect(await answers.wait(within: .milliseconds(3999)) != nil)
    await advance.value
  }

  // MARK: - Sources of events

  @Test func isFulfilledFromAnyThread() async {
    let answers = TimedExpectation(expectedCount: 202_000)
    await time.holding {
      await withTaskGroup { group in
        for _ in 0..<1_000 {
          group.addTask { answers.fulfill() }
          group.addTask { answers() }
        }
      }
      await withCheckedContinuation { continuation in
        let threads = DispatchGroup()
        for _ in 0..<4 {
          threads.enter()
          Thread.detachNewThread {
            for _ in 0..<50_000 { answers.fulfill() }
            threads.leave()
          }
        }
        threads.notify(queue: .global()) { continuation.resume() }
      }
    }
    await answers.wait(within: .seconds(1))
    #expect(answers.count == 202_000)
  }

  @Test func aFunctionThatIsPassedOn() async {
    final class Service { var onAnswer: (() -> Void)? }
    let service = Service()
    let answer = TimedExpectation("answer")
    service.onAnswer = answer.fulfill
    service.onAnswer?()
    await answer.wait(within: .zero)
  }

  @Test func aNotification() async {
    let center = NotificationCenter()
    let posted = TimedExpectation("the answer is posted")
    let observer = center.addObserver(forName: .init("answer"), object: nil, queue: nil) { _ in
      posted()
    }
    defer { center.removeObserver(observer) }
    Task {
      try await Task.sleep(for: .seconds(1))
      center.post(name: .init("another"), object: nil)
      try await Task.sleep(for: .seconds(1))
      center.post(name: .init("answer"), object: nil)
    }
    #expect(await posted.wait(within: .seconds(5)) == .seconds(2))
  }

  // MARK: - Other failures

  @Test func cancelled() async throws {
    let answer = TimedExpectation("answer", expectedCount: 2...)
    fulfill(answer, times: 1)
    let failures = try await failures {
      let wait = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await answer.wait(within: .seconds(60))
      }
      #expect(await wait.value == nil)
    }
    #expect(
      failures.map(\.text) == [
        """
        Expected "answer" to be fulfilled at least 2 times within 60.0 seconds, but the task was \
        cancelled after 0.0 seconds, with 0 times.
        VirtualTime at 0.0 seconds, 1 pending sleep:
          - until 1.0 seconds, since 0.0 seconds, task #
        """
      ])
  }

  @Test func aNegativeLimitIsAFailure() async throws {
    let answer = TimedExpectation("answer")
    answer.fulfill()
    let failures = try await failures {
      #expect(await answer.wait(within: .seconds(-1)) == nil)
    }
    #expect(
      failures.map(\.text) == [
        """
        TimedExpectation.wait(within:) expects a limit of zero or more, but got -1.0 seconds. Time \
        stays at 0.0 seconds: a clock does not run backwards.
        """
      ])
  }
}

@Suite struct TimedExpectationOutsideAScopeTests {
  @Test func anExplicitClock() async {
    let clock = TestClock()
    let answer = TimedExpectation("answer")
    Task {
      try await clock.sleep(for: .seconds(3))
      answer.fulfill()
    }
    #expect(await answer.wait(within: .seconds(5), on: clock) == .seconds(3))
  }

  @Test func acceptsCustomDurations() async {
    let clock = TestClock<Beats>()
    let answer = TimedExpectation("answer", expectedCount: 1)
    Task {
      try await clock.sleep(for: Beats(count: 3))
      answer.fulfill()
    }
    let time = await answer.wait(within: Beats(count: 5), on: clock)
    #expect(time == Beats(count: 5))
  }

  @Test func noClockIsAFailure() async throws {
    let answer = TimedExpectation("answer")
    answer.fulfill()
    let line = #line + 2
    let failures = try await failures {
      #expect(await answer.wait(within: .seconds(5)) == nil)
    }
    #expect(
      failures == [
        Failure(
          text: """
            TimedExpectation.wait(within:) expects to be called in a scope of virtual time, or to \
            be given a clock. The expectation "answer" has neither.
            Write @Test(.virtualTime), run the test in withVirtualTime { … }, or write \
            `wait(within:on: clock)`.
            """, line: line)
      ])
  }
}
