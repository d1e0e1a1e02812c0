import Clocks
import Testing

@testable import ContextDemo

/// The fourth pattern: busy assertion, which on virtual time is not busy and knows exactly when.
@Suite struct EventuallyTests {
  let clock = TestClock()

  /// Counts the seconds.
  private actor Counter {
    private(set) var value = 0

    func count(on clock: TestClock<Duration>) async throws {
      while true {
        try await clock.sleep(for: .seconds(1))
        value += 1
      }
    }
  }

  private func counter() -> Counter {
    let counter = Counter()
    Task { [clock] in try await counter.count(on: clock) }
    return counter
  }

  @Test func holdsAtOnce() async throws {
    #expect(try await clock.eventually(within: .seconds(5)) { true } == .zero)
    #expect(clock.now.offset == .zero)
  }

  @Test func holdsAfterAWhile() async throws {
    let counter = counter()
    let time = try await clock.eventually(within: .seconds(5)) { await counter.value == 3 }
    #expect(time == .seconds(3))
    #expect(clock.now.offset == .seconds(3))
    let more = try await clock.eventually(within: .seconds(5)) { await counter.value == 5 }
    #expect(more == .seconds(2))
  }

  @Test func holdsAtTheLastMoment() async throws {
    let counter = counter()
    try await clock.eventually(within: .seconds(3)) { await counter.value == 3 }
  }

  @Test func doesNotHoldInTime() async throws {
    let counter = counter()
    await #expect(throws: BusyAssertionError(kind: .eventually, time: .milliseconds(2999))) {
      try await clock.eventually(within: .milliseconds(2999)) { await counter.value == 3 }
    }
    #expect(clock.now.offset == .milliseconds(2999))
  }

  @Test func nothingThatCouldChangeIt() async throws {
    await #expect(throws: BusyAssertionError(kind: .eventually, time: .seconds(3600))) {
      try await clock.eventually(within: .seconds(3600)) { false }
    }
  }

  @Test func neverHolds() async throws {
    let counter = counter()
    try await clock.never(within: .milliseconds(2999)) { await counter.value == 3 }
    #expect(clock.now.offset == .milliseconds(2999))
  }

  @Test func holdsAndShouldNot() async throws {
    let counter = counter()
    await #expect(throws: BusyAssertionError(kind: .never, time: .seconds(3))) {
      try await clock.never(within: .seconds(5)) { await counter.value == 3 }
    }
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func aConditionThatThrowsEndsIt() async throws {
    struct Oops: Error {}
    await #expect(throws: Oops.self) {
      try await clock.never(within: .seconds(5)) { throw Oops() }
    }
  }

  @Test func theTimeline() async throws {
    let (entries, outcome) = try await PerformanceTests.perform(MusicSearchScenario.self)
    #expect(outcome.error == nil)
    #expect(
      entries == [
        .init(0, "caller", "asks a confused server for 'sun'"),
        .init(100, "callback", "does not understand the answer"),
        .init(100, "caller", "asks a failing server for 'sun'"),
        .init(200, "callback", "the server answered with status 500"),
        .init(200, "caller", "asks a good server for 'sun'"),
        .init(300, "callback", "found 1: [\"Here comes the sun\"]"),
        .init(1300, "caller", "has heard nothing for a second, as expected"),
      ])
  }
}
