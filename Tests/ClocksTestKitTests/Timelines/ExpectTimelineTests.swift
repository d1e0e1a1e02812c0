import Clocks
import ClocksTestKit
import Testing

@Suite struct ExpectTimelineTests {
  /// Returns a stream that emits each value at its second, and then ends or throws.
  private func stream<Value: Sendable>(
    _ values: [(Int, Value)], endsAt end: Int?, throwing error: (any Error)? = nil
  ) -> AsyncThrowingStream<Value, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        var now = 0
        for (second, value) in values {
          if second > now { try await Task.sleep(for: .seconds(second - now)) }
          now = second
          continuation.yield(value)
        }
        try await Task.sleep(for: .seconds((end ?? 1_000) - now))
        continuation.finish(throwing: error)
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private struct Oh: Error {}

  @Test(.virtualTime) func aSequenceCanMatchItsDiagram() async throws {
    let time = try #require(VirtualTime.current)
    let values = stream([(0, "a"), (2, "b"), (5, "c"), (5, "d")], endsAt: 6)
    #expect(await expectTimeline(of: values, "a-b--(cd)|", every: .seconds(1)))
    #expect(time.now == .init(offset: .seconds(6)))
    // Time moves by exactly the diagram's length, even if the sequence is shorter.
    let short = stream([(1, 7)], endsAt: 2)
    #expect(await expectTimeline(of: short, "-  7  |  -  -"))
    #expect(time.now == .init(offset: .seconds(10)))
  }

  @Test(.virtualTime) func charactersCanStandForValues() async {
    let values = stream([(1, [1, 2]), (3, [3])], endsAt: 3)
    await expectTimeline(of: values, "-a-(b|)", values: ["a": [1, 2], "b": [3]])
    // Two characters can stand for one value.
    await expectTimeline(of: stream([(0, 5), (1, 5)], endsAt: 2), "xy|", values: ["x": 5, "y": 5])
  }

  @Test(.virtualTime) func aQuotedTextIsADescription() async {
    let values: [Character: String] = ["s": "sun", "m": "moon"]
    #expect(
      await expectTimeline(
        of: stream([(0, "sun"), (1, "moon")], endsAt: 2), "'sun'm|", values: values))
    #expect(
      await expectTimeline(
        of: stream([(0, "fog"), (1, "sun")], endsAt: 2), "'fog's|", values: values))
    #expect(
      await expectTimeline(of: stream([(0, 1), (1, 10)], endsAt: 2), "'1'1|", values: ["1": 10]))
  }

  @Test(.virtualTime) func errorsCanBeExpected() async {
    await expectTimeline(of: stream([(0, "a")], endsAt: 2, throwing: Oh()), "a-#")
    await expectTimeline(
      of: stream([(0, "a")], endsAt: 2, throwing: Oh()), "a-#", error: { $0 is Oh })
  }

  @Test(.virtualTime) func aDiagramWithoutAnEndExpectsNone() async {
    await expectTimeline(of: stream([(0, "a")], endsAt: nil), "a---")
    await expectTimeline(
      of: ContinuousClock().timer(interval: .seconds(2)).map { _ in "x" }, "--x-x-x")
  }

  @Test(.virtualTime) func cancellationEndsASequence() async {
    // Cancellation ends an AsyncThrowingStream without an error.
    await expectTimeline(of: stream([(0, "a")], endsAt: nil), "a--!")
    await expectTimeline(of: stream([(0, "a")], endsAt: nil), "a--(!|)")
    await expectTimeline(of: stream([(0, "a")], endsAt: nil), "a--!---", every: .seconds(2))
    await expectTimeline(of: Throwing(), "--(!#)")
  }

  @Test(.virtualTime) func aCancellationPrecedesWhatIsDueAtTheSameInstant() async {
    let clock = ContinuousClock()
    await expectTimeline(of: clock.timer(interval: .seconds(2)).map { _ in "x" }, "--x-(!|)")
    await expectTimeline(of: clock.timer(interval: .seconds(2)).map { _ in "x" }, "--x-!---")
    // A value before the sign precedes the cancellation.
    await expectTimeline(of: clock.timer(interval: .seconds(2)).map { _ in "x" }, "--x-(x!|)")
    await expectTimeline(of: stream([(0, "a")], endsAt: nil), "(a!|)")
  }

  private struct Throwing: AsyncSequence, AsyncIteratorProtocol {
    func makeAsyncIterator() -> Self { self }
    mutating func next() async throws -> Int? {
      try await Task.sleep(for: .seconds(100))
      return nil
    }
  }

  /// Ignores its cancellation.
  private struct IgnoresCancellation: AsyncSequence, AsyncIteratorProtocol {
    var count = 0
    func makeAsyncIterator() -> Self { self }
    mutating func next() async -> Int? {
      guard count < 10 else { return nil }
      count += 1
      await Task { try? await Task.sleep(for: .seconds(2)) }.value
      return 1
    }
  }

  @Test func aTestClockIsAdvanced() async {
    let clock = TestClock()
    await expectTimeline(
      of: clock.timer(interval: .seconds(5)).map { _ in 1 }, "-111", every: .seconds(5), on: clock)
    #expect(clock.now == .init(offset: .seconds(15)))
  }

  @Test func eventsAfterTheLastStepDoNotCount() async {
    let clock = TestClock()
    let mover = Task { await clock.advance(by: .seconds(5)) }
    await expectTimeline(
      of: clock.timer(interval: .seconds(2)).map { _ in "t" }, "--t-", on: clock)
    await mover.value
  }

  // MARK: - Failures

  /// Makes a call that has to fail, and returns the text of its only failure.
  private func failure(
    at location: SourceLocation = #_sourceLocation, of call: () async throws -> Bool
  ) async throws -> String {
    let found = try await failures {
      let isAsExpected = try await call()
      #expect(!isAsExpected, sourceLocation: location)
    }
    try #require(found.count == 1, "\(found)", sourceLocation: location)
    return found[0].text
  }

  /// A sequence that must not be read.
  private struct Unread: AsyncSequence {
    func makeAsyncIterator() -> AsyncStream<Int>.Iterator {
      Issue.record("The sequence is read.")
      return AsyncStream(unfolding: { nil }).makeAsyncIterator()
    }
  }

  @Test(.virtualTime) func aDifferenceIsShown() async throws {
    let values = stream([(0, "a"), (2, "b"), (5, "c")], endsAt: 6)
    let failures = try await failures {
      #expect(await !expectTimeline(of: values, "a-b--(cd)|"))
    }
    #expect(
      failures.map(\.text) == [
        """
        The sequence does not do what the diagram says: at 5 s expected c and d, but got c.
          expected  a-b--(cd)|
          actual    a-b--c   |
                         ^
        VirtualTime at 6.0 seconds, no pending sleep
        """
      ])
    #expect(failures.map(\.line) == [#line - 12])
  }

  @Test(.virtualTime) func eachKindOfDifferenceIsShown() async throws {
    #expect(
      try await failure {
        await expectTimeline(
          of: stream([(0, 1), (1, 3)], endsAt: 2), "ab|", values: ["a": 1, "b": 2])
      }.hasPrefix(
        """
        The sequence does not do what the diagram says: at 1 s expected b, but got 3.
          expected  ab|
          actual    a3|
                     ^
        """))
    #expect(
      try await failure {
        await expectTimeline(of: stream([(1, "a")], endsAt: 2), "--", every: .milliseconds(1_500))
      }.contains("a came at 1 s, between two steps"))
    #expect(
      try await failure {
        await expectTimeline(of: stream([(0, 1), (1, 2)], endsAt: 3), "1--|")
      }.contains("at 1 s expected nothing, but got 2."))
    #expect(
      try await failure {
        await expectTimeline(
          of: stream([(0, 1)], endsAt: 1, throwing: Oh()), "1#", error: { $0 is CancellationError })
      }.contains("at 1 s expected an error, but got the error Oh()"))
    #expect(
      try await failure { await expectTimeline(of: IgnoresCancellation(), "--1!---") }.contains(
        """
        at 3 s expected the cancellation, but got the cancellation, after which it went on.
          expected  --1! ---
          actual    --1!…1-1
                       ^
        """))
    // The value that is due at the instant of the cancellation does not count as the end.
    #expect(
      try await failure { await expectTimeline(of: IgnoresCancellation(), "--!-") }.contains(
        """
        at 2 s expected the cancellation, but got the cancellation, after which it went on and 1.
          expected  --!    -
          actual    --(!…1)-
                      ^
        """))
    #expect(
      try await failure { await expectTimeline(of: stream([(0, 1)], endsAt: nil), "1|") }
        .contains("at 1 s expected the end, but got nothing"))
    #expect(
      try await failure { await expectTimeline(of: stream([(0, 1)], endsAt: 2), "1---") }
        .contains("at 2 s expected nothing, but got the end"))
  }

  /// A value that is not in `values:` differs from the value whose sign is its description.
  @Test(.virtualTime) func aDescriptionIsNoSign() async throws {
    #expect(
      try await failure {
        await expectTimeline(
          of: stream([(0, "a"), (1, "b")], endsAt: 2), "ab|", values: ["a": "A", "b": "B"])
      }.hasPrefix(
        """
        The sequence does not do what the diagram says: at 0 s expected a, but got 'a'.
          expected  a  b  |
          actual    'a''b'|
                    ^
        """))
    #expect(
      try await failure {
        await expectTimeline(of: stream([(0, 10)], endsAt: 1), "'1'|", values: ["1": 10])
      }.hasPrefix(
        """
        The sequence does not do what the diagram says: at 0 s expected '1', but got 1.
          expected  '1'|
          actual    1  |
                    ^
        """))
  }

  @Test(.virtualTime) func afterAnInvalidArgumentNothingIsRead() async throws {
    let time = try #require(VirtualTime.current)
    let failures = try await failures {
      await expectTimeline(of: Unread(), "1-((")
      await expectTimeline(of: Unread(), "ax", values: ["a": 1])
      await expectTimeline(of: Unread(), "1|", every: .zero)
      await expectTimeline(of: Unread(), "1|", every: .seconds(-1))
    }
    #expect(
      failures.map(\.text) == [
        """
        expectTimeline(of:_:every:) does not understand the diagram: a group within a group
          1-((
             ^
        """,
        """
        expectTimeline(of:_:every:) does not understand the diagram: there is no value for "x"
          ax
           ^
        """,
        """
        expectTimeline(of:_:every:) expects a positive step, but got 0.0 seconds. Nothing was read.
        """,
        """
        expectTimeline(of:_:every:) expects a positive step, but got -1.0 seconds. Nothing was read.
        """,
      ])
    let first = #line - 24
    #expect(failures.map(\.line) == [first, first + 1, first + 2, first + 3])
    #expect(time.now == .init())
  }

  @Test(.virtualTime) func afterADiagramThatIsTooLongNothingIsRead() async throws {
    let time = try #require(VirtualTime.current)
    let late = TestClock(now: .init(offset: .seconds(Int64.max)))
    let step = Duration.seconds(Int64.max)
    let texts = try await failures {
      await expectTimeline(of: Unread(), "1------------------|", every: step)
      await expectTimeline(of: Unread(), "1-----------------|", every: step, on: late)
      await expectTimeline(of: Unread(), "1------------------!", every: step)
    }.map(\.text)
    func text(_ steps: Int, _ start: String) -> String {
      """
      expectTimeline(of:_:every:) expects a diagram within the clock's range of time, but got \(steps) steps \
      of 9223372036854775807.0 seconds from \(start) seconds on. Nothing was read. Pass a shorter step.
      """
    }
    #expect(texts == [text(19, "0.0"), text(18, "9223372036854775807.0"), text(19, "0.0")])
    #expect(time.now == .init())
    #expect(late.now == .init(offset: step))
  }

  @Test func aCallWithoutAClockFails() async throws {
    #expect(
      try await failure { await expectTimeline(of: Unread(), "1|") } == """
        expectTimeline(of:_:every:) expects to be called in a scope of virtual time, or to be given a \
        clock.
        Write @Test(.virtualTime), run the test in withVirtualTime { … }, or write \
        `expectTimeline(of:_:every:on: clock)`.
        """)
  }

  @Test(.virtualTime) func aCancelledCallFails() async throws {
    let text = try await failure {
      let task = Task {
        await expectTimeline(of: stream([(0, 1)], endsAt: nil), "1---------")
      }
      try await Task.sleep(for: .seconds(3))
      task.cancel()
      return await task.value
    }
    #expect(
      text.hasPrefix(
        "expectTimeline(of:_:every:) was cancelled, and what comes later is not known."))
  }
}
