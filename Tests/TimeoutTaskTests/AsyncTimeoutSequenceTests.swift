import Clocks
import Testing
import TimeoutTask

/// One test for each rule of `AsyncSequence.timeout`.
@Suite struct AsyncTimeoutSequenceTests {
  let clock = TestClock()
  let log = Log<String>()

  /// A sequence with a number after each of the delays.
  private struct Ticks: AsyncSequence {
    let clock: TestClock<Duration>
    let delays: [Duration]
    var error: Failure?

    struct AsyncIterator: AsyncIteratorProtocol {
      let ticks: Ticks
      var number = 0

      mutating func next() async throws -> Int? {
        guard number < ticks.delays.count else {
          if let error = ticks.error { throw error }
          return nil
        }
        try await ticks.clock.sleep(for: ticks.delays[number])
        number += 1
        return number
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ticks: self) }
  }

  /// Iterates over the sequence, and logs each element with its time.
  private func follow<S: AsyncSequence & Sendable>(
    _ sequence: S, pause: Duration = .zero
  ) -> Task<Void, Never> where S.Element: Sendable & Equatable {
    Task { [clock, log] in
      var iterator = sequence.makeAsyncIterator()
      do {
        while let element = try await iterator.next() {
          log.add("\(clock.now.offset): \(element)")
          try await clock.sleep(for: pause)
        }
        log.add("\(clock.now.offset): end")
      } catch {
        log.add("\(clock.now.offset): \(error)")
      }
      do {
        let next = try await iterator.next()
        #expect(next == nil)
      } catch {
        log.add("after the end: \(error)")
      }
    }
  }

  @Test func elementsInTimePassAndEachHasItsOwnTimeout() async throws {
    let ticks = Ticks(clock: clock, delays: [.seconds(2), .seconds(2), .seconds(2)])
    _ = follow(ticks.timeout(.seconds(3), clock: clock))
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["2.0 seconds: 1", "4.0 seconds: 2", "6.0 seconds: 3", "6.0 seconds: end"])
    try await clock.checkSuspension()
  }

  @Test func aMissingElementCausesAnErrorAndTheEnd() async throws {
    let ticks = Ticks(clock: clock, delays: [.seconds(2), .seconds(4), .seconds(2)])
    _ = follow(ticks.timeout(.seconds(3), clock: clock, name: "wait for a tick"))
    await clock.advance(by: .seconds(60))
    let error = TimeoutError(timeout: .seconds(3), operation: "wait for a tick")
    #expect(log.all == ["2.0 seconds: 1", "5.0 seconds: \(error)"])
    try await clock.checkSuspension()
  }

  /// The stream ends because its task is cancelled, which must not look like its own end.
  @Test func aFailureOfTheClockIsAnErrorAlsoIfTheSequenceThenEnds() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    var iterator = stream.timeout(.seconds(3), clock: FailingClock()).makeAsyncIterator()
    await #expect(throws: FailingClock.Failure()) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    continuation.finish()
  }

  @Test func theTimeOfTheLoopsBodyDoesNotCount() async {
    let ticks = Ticks(clock: clock, delays: [.seconds(2), .seconds(2)])
    _ = follow(ticks.timeout(.seconds(3), clock: clock), pause: .seconds(10))
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["2.0 seconds: 1", "14.0 seconds: 2", "24.0 seconds: end"])
  }

  /// An `AsyncStream` ends when its reader is cancelled. That is not the end of the sequence.
  @Test func aStreamThatEndsWhenItIsCancelledHasTimedOut() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(1)
    _ = follow(stream.timeout(.seconds(3), clock: clock))
    await clock.advance(by: .seconds(2))
    continuation.yield(2)
    await clock.advance(by: .seconds(60))
    let error = TimeoutError(timeout: .seconds(3))
    #expect(log.all == ["0.0 seconds: 1", "2.0 seconds: 2", "5.0 seconds: \(error)"])
  }

  @Test func theEndOfAStreamIsTheEnd() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    _ = follow(stream.timeout(.seconds(3), clock: clock))
    await clock.advance(by: .seconds(2))
    continuation.finish()
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["2.0 seconds: end"])
  }

  @Test func anErrorOfTheSequenceIsThrown() async {
    let ticks = Ticks(clock: clock, delays: [.seconds(1)], error: Failure())
    _ = follow(ticks.timeout(.seconds(3), clock: clock))
    await clock.advance(by: .seconds(60))
    #expect(log.all == ["1.0 seconds: 1", "1.0 seconds: Failure()"])
  }

  @Test func anInfiniteTimeoutSetsNoTimer() async {
    let ticks = Ticks(clock: clock, delays: [.seconds(1)])
    _ = follow(ticks.timeout(.seconds(Int64.max), clock: clock))
    await clock.settle()
    #expect(clock.pendingSleeps.count == 1)
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["1.0 seconds: 1", "1.0 seconds: end"])
  }

  @Test func withoutTimeTheSequenceIsAskedInACancelledTask() async {
    let ticks = Ticks(clock: clock, delays: [.seconds(1)])
    _ = follow(ticks.timeout(.zero, clock: clock))
    await clock.settle()
    #expect(log.all == ["0.0 seconds: \(TimeoutError(timeout: .zero))"])
  }

  /// The deadline around the loop is earlier, so its error is thrown.
  @Test func aDeadlineAroundTheLoopMayBeEarlier() async {
    let task = Task { [clock, log] in
      try await withTimeout(.seconds(3), clock: clock, name: "outer") {
        let ticks = Ticks(clock: clock, delays: [.seconds(2), .seconds(2)])
        for try await _ in ticks.timeout(.seconds(3), clock: clock, name: "inner") {
          log.add("\(clock.pendingSleeps.map(\.deadline))")
        }
      }
    }
    await clock.advance(by: .seconds(60))
    await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "outer")) {
      try await task.value
    }
    // After the first element, only the deadline around the loop is set.
    #expect(log.all == ["[3.0 seconds]"])
  }

  /// A deadline around the loop passes in place of the sequence's own.
  @Test(arguments: [Duration.seconds(3), .zero])
  func aStreamThatEndsAtAnEqualDeadlineHasTimedOut(_ timeout: Duration) async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let task = Task { [clock] in
      try await withTimeout(timeout, clock: clock, name: "outer") {
        for try await _ in stream.timeout(timeout, clock: clock, name: "inner") {}
      }
    }
    await clock.advance(by: .seconds(60))
    let error = await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(error == TimeoutError(timeout: timeout, operation: "outer"))
    let inner = error?.underlyingError as? TimeoutError
    #expect(inner == TimeoutError(timeout: timeout, operation: "inner"))
    continuation.finish()
  }

  /// The time of the element is not up, so the stream's end is passed on, as without `timeout`.
  @Test func aStreamMayEndAtAnEarlierDeadline() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let task = Task { [clock] in
      try await withTimeout(.seconds(3), clock: clock) {
        for try await _ in stream.timeout(.seconds(4), clock: clock) {}
        return clock.now.offset
      }
    }
    await clock.advance(by: .seconds(60))
    #expect(try await task.value == .seconds(3))
    continuation.finish()
  }

  @Test func cancellingTheLoopCausesNoTimeout() async {
    let task = follow(Ticks(clock: clock, delays: [.seconds(2)]).timeout(.seconds(3), clock: clock))
    await clock.advance(by: .seconds(1))
    task.cancel()
    await clock.settle()
    #expect(log.all == ["1.0 seconds: CancellationError()"])
  }

  /// A second owner of an iterator's buffer would make each element cost a copy of the buffer.
  @Test func theIteratorOfTheSequenceIsNotCopied() async throws {
    struct Buffered: AsyncSequence {
      final class Buffer {}
      struct AsyncIterator: AsyncIteratorProtocol {
        var buffer = Buffer()
        mutating func next() async -> Bool? { isKnownUniquelyReferenced(&buffer) }
      }
      func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }
    var iterator = Buffered().timeout(.seconds(3), clock: clock).makeAsyncIterator()
    for _ in 1...3 { #expect(try await iterator.next() == true) }
  }

  @Test @MainActor func theSequenceIsAskedInTheLoopsIsolation() async throws {
    struct OnTheMainActor: AsyncSequence, AsyncIteratorProtocol {
      var count = 0
      mutating func next(isolation: isolated (any Actor)?) async -> Int? {
        MainActor.preconditionIsolated()
        count += 1
        return count < 4 ? count : nil
      }
      func makeAsyncIterator() -> Self { self }
    }
    var numbers: [Int] = []
    for try await number in OnTheMainActor().timeout(.seconds(3), clock: clock) {
      numbers.append(number)
    }
    #expect(numbers == [1, 2, 3])
  }
}
