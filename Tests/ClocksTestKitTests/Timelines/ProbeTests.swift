import Clocks
import ClocksTestKit
import Testing

@Suite struct ProbeTests {
  private struct Oh: Error {}

  /// Returns a stream that emits 1, 2, … every second, and then ends or throws.
  private func numbers(_ count: Int, throwing error: (any Error)? = nil) -> AsyncThrowingStream<
    Int, any Error
  > {
    AsyncThrowingStream { continuation in
      let task = Task {
        for number in 0..<count {
          try await Task.sleep(for: .seconds(1))
          continuation.yield(number + 1)
        }
        try await Task.sleep(for: .seconds(1))
        continuation.finish(throwing: error)
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  @Test(.virtualTime) func expectedEventsPass() async throws {
    let time = try #require(VirtualTime.current)
    let probe = Probe(numbers(2))
    #expect(await probe.expectNothing(for: .milliseconds(999)))
    #expect(time.now == .init(offset: .milliseconds(999)))
    #expect(await probe.next(within: .milliseconds(1)) == 1)
    #expect(await probe.next(within: .seconds(10)) == 2)
    #expect(time.now == .init(offset: .seconds(2)))
    #expect(await probe.expectEnd(within: .seconds(1)) == .seconds(3))
    #expect(await probe.expectNothing(for: .seconds(100)))
    #expect(time.now == .init(offset: .seconds(103)))
  }

  @Test(.virtualTime) func anElementIsCompared() async throws {
    let time = try #require(VirtualTime.current)
    let probe = Probe(numbers(2))
    #expect(await probe.expectNext(1, within: .seconds(1)))
    #expect(time.now == .init(offset: .seconds(1)))
    #expect(await probe.expectNext(2, within: .seconds(10)))
    #expect(time.now == .init(offset: .seconds(2)))
  }

  @Test func anotherElementOrNoneIsShown() async throws {
    let found = try await failures {
      try await withVirtualTime { _ in
        let probe = Probe(self.numbers(2))
        #expect(await !probe.expectNext(7, within: .seconds(1)))
        #expect(await !probe.expectNext(2, within: .milliseconds(1)))
        #expect(await probe.expectNext(2, within: .seconds(1)))
        #expect(await !probe.expectNext(3, within: .seconds(1)))
      }
    }
    #expect(
      found.map { $0.text.split(separator: "\n").first.map(String.init) } == [
        "Expected 7 within 1.0 seconds, but 1 came 1.0 seconds after the probe was made.",
        "Expected 2 within 0.001 seconds, but nothing came.",
        "Expected 3 within 1.0 seconds, but the sequence ended 3.0 seconds after the probe was made.",
      ])
  }

  @Test(.virtualTime) func noEventIsLostBetweenTwoCalls() async throws {
    let probe = Probe(numbers(3))
    try await Task.sleep(for: .seconds(10))
    #expect(await probe.next(within: .zero) == 1)
    #expect(await probe.next(within: .zero) == 2)
    #expect(await probe.next(within: .zero) == 3)
    // The time at which the sequence ended, not the time of the call.
    #expect(await probe.expectEnd(within: .zero) == .seconds(4))
  }

  @Test(.virtualTime) func anErrorCanBeExpected() async {
    let probe = Probe(numbers(0, throwing: Oh()))
    #expect(await probe.expectError(within: .seconds(1)) is Oh)
  }

  @Test(.virtualTime) func finishPassesIfEveryEventWasTaken() async throws {
    let probe = Probe(numbers(2))
    await probe.next(within: .seconds(1))
    #expect(await probe.expectNothing())
    #expect(await probe.finish())
    #expect(await probe.expectNothing(for: .seconds(10)))

    let ended = Probe(numbers(0))
    try await Task.sleep(for: .seconds(2))
    #expect(await ended.finish())
  }

  @Test(.virtualTime) func finishNamesTheEventsThatWereNotTaken() async throws {
    let probe = Probe(numbers(2, throwing: Oh()))
    try await Task.sleep(for: .seconds(5))
    await probe.next(within: .zero)
    let line = #line + 1
    let failures = try await failures { #expect(await !probe.finish()) }
    #expect(failures.map(\.line) == [line])
    let text = failures.first?.text ?? ""
    #expect(
      text.hasPrefix(
        """
        Expected that every event was taken, but 2 were left:
          - 2 came 2.0 seconds after the probe was made
          - it threw Oh() 3.0 seconds after the probe was made
        """), "\(text)")
  }

  /// Throws a `CancellationError` when it is cancelled.
  private struct Throwing: AsyncSequence, AsyncIteratorProtocol {
    func makeAsyncIterator() -> Self { self }
    mutating func next() async throws -> Int? {
      try await Task.sleep(for: .seconds(100))
      return nil
    }
  }

  @Test(.virtualTime) func anErrorAfterTheCancellationNeedNotBeTaken() async {
    #expect(await Probe(Throwing()).finish())
    let cancelled = Probe(Throwing())
    cancelled.cancel()
    #expect(await cancelled.finish())
  }

  @Test(.virtualTime) func aCancelledSequenceEnds() async {
    let probe = Probe(numbers(100))
    await probe.next(within: .seconds(1))
    probe.cancel()
    #expect(await probe.expectEnd(within: .zero) == .seconds(1))
  }

  @Test func aTestClockIsAdvanced() async {
    let clock = TestClock()
    let probe = Probe(clock.timer(interval: .seconds(5)), on: clock)
    await probe.expectNothing(for: .milliseconds(4_999))
    #expect(await probe.next(within: .milliseconds(1)) == .init(offset: .seconds(5)))
    #expect(clock.now == .init(offset: .seconds(5)))
  }

  /// Another task moves time beyond a limit, so the sequence has sent something when the call continues.
  @Test func anEventBeyondTheLimitStaysForTheNextCall() async throws {
    let found = try await failures {
      let clock = TestClock()
      let probe = Probe(clock.timer(interval: .seconds(3)).map { _ in "t" }, on: clock)
      let mover = Task { await clock.advance(by: .seconds(5)) }
      #expect(await probe.next(within: .seconds(1)) == nil)
      await mover.value
      #expect(clock.now == .init(offset: .seconds(5)))
      #expect(await probe.next(within: .zero) == "t")
    }
    #expect(
      found.map { $0.text.split(separator: "\n").first } == [
        "Expected an element within 1.0 seconds, but nothing came."
      ])
  }

  @Test func nothingIsExpectedUpToTheLimitOnly() async throws {
    let clock = TestClock()
    let probe = Probe(clock.timer(interval: .seconds(3)).map { _ in "t" }, on: clock)
    let mover = Task { await clock.advance(by: .seconds(5)) }
    #expect(await probe.expectNothing(for: .seconds(1)))
    await mover.value
    #expect(await probe.next(within: .zero) == "t")
    #expect(await probe.expectNothing(for: .milliseconds(999)))
  }

  @Test(.virtualTime) func freeingAProbeCancelsItsTask() async throws {
    let time = try #require(VirtualTime.current)
    do {
      let probe = Probe(numbers(100))
      await probe.next(within: .seconds(1))
      #expect(time.clock.pendingSleeps.count == 1)
    }
    await time.settle()
    #expect(time.clock.pendingSleeps.isEmpty)
  }

  // MARK: - Failures

  @Test(.virtualTime) func unexpectedEventsFail() async throws {
    let found = try await failures {
      let probe = Probe(numbers(2))
      await probe.next(within: .milliseconds(500))
      await probe.expectNothing(for: .seconds(1))
      await probe.expectEnd(within: .zero)
      await probe.expectError(within: .seconds(1))
      await probe.next(within: .seconds(1))
      await probe.next(within: .seconds(-1))
    }
    #expect(
      found.map { $0.text.split(separator: "\n")[0] } == [
        "Expected an element within 0.5 seconds, but nothing came.",
        "Expected nothing for 1.0 seconds, but 1 came 1.0 seconds after the probe was made.",
        "Expected the end within 0.0 seconds, but 1 came 1.0 seconds after the probe was made.",
        "Expected an error within 1.0 seconds, but 2 came 2.0 seconds after the probe was made.",
        "Expected an element within 1.0 seconds, but the sequence ended 3.0 seconds after the probe was made.",
        "Probe.next(within:) expects a limit of zero or more, but got -1.0 seconds. Time stays at 3.0 seconds: a clock does not run backwards.",
      ])
    let first = #line - 16
    #expect(found.map(\.line) == Array(first..<(first + 6)))
  }

  @Test(.virtualTime) func withANegativeLimitNothingIsChecked() async throws {
    let probe = Probe(numbers(2))
    try await Task.sleep(for: .seconds(2))
    let found = try await failures { await probe.expectNothing(for: .seconds(-1)) }
    #expect(
      found.map(\.text) == [
        "Probe.expectNothing(for:) expects a limit of zero or more, but got -1.0 seconds. Time stays at 2.0 seconds: "
          + "a clock does not run backwards."
      ])
    #expect(await probe.next(within: .zero) == 1)
  }

  /// A sequence that is over sends nothing more, so a failure says since when it is over.
  @Test(.virtualTime) func aCallAfterTheEndNamesTheEnd() async throws {
    let found = try await failures {
      let ended = Probe(numbers(0))
      await ended.expectEnd(within: .seconds(1))
      await ended.next(within: .seconds(1))
      await ended.expectEnd(within: .zero)
      let failed = Probe(numbers(0, throwing: Oh()))
      await failed.expectError(within: .seconds(1))
      await failed.expectNext(7, within: .seconds(2))
      let finished = Probe(numbers(2))
      await finished.finish()
      await finished.next(within: .seconds(1))
    }
    #expect(
      found.map { $0.text.split(separator: "\n")[0] } == [
        "Expected an element within 1.0 seconds, but the sequence had ended before, 1.0 seconds after the probe was made.",
        "Expected the end within 0.0 seconds, but the sequence had ended before, 1.0 seconds after the probe was made.",
        "Expected 7 within 2.0 seconds, but the sequence had thrown Oh() before, 1.0 seconds after the probe was made.",
        "Expected an element within 1.0 seconds, but the sequence had ended before, 0.0 seconds after the probe was made.",
      ])
  }

  @Test func aProbeWithoutAClockFailsOnce() async throws {
    let found = try await failures {
      let probe = Probe(numbers(2))
      #expect(await probe.next(within: .seconds(1)) == nil)
    }
    #expect(
      found.map(\.text) == [
        """
        Probe(_:on:) expects to be called in a scope of virtual time, or to be given a clock.
        Write @Test(.virtualTime), run the test in withVirtualTime { … }, or write \
        `Probe(_:on: clock)`.
        """
      ])
  }
}
