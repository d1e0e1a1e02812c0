import Testing

@testable import Clocks

@Suite struct AnyClockTests {
  @Test func forwardsEverything() async throws {
    let base = ImmediateClock(now: .init(offset: .seconds(5)))
    let clock = AnyClock(base)
    #expect(clock.now.duration(to: clock.now) == .zero)
    #expect(clock.minimumResolution == .zero)
    #expect(AnyClock(ContinuousClock()).minimumResolution == ContinuousClock().minimumResolution)

    try await clock.sleep(for: .seconds(2))
    #expect(base.now.offset == .seconds(7))
    #expect("\(clock.now)" == "7.0 seconds")
  }

  @Test func forwardsDeadlineAndTolerance() async {
    let base = TestClock()
    let clock = AnyClock(base)
    let task = Task { try await clock.sleep(for: .seconds(3), tolerance: .milliseconds(10)) }
    await base.settle()
    #expect(base.pendingSleeps.map(\.deadline.offset) == [.seconds(3)])
    #expect(base.pendingSleeps.map(\.tolerance) == [.milliseconds(10)])

    await base.advance(by: .seconds(3))
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test func cancellationReachesTheErasedClock() async {
    let base = TestClock()
    let clock = AnyClock(base)
    let task = Task { try await clock.sleep(for: .seconds(3)) }
    await base.settle()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(base.pendingSleeps.isEmpty)
  }

  @Test func instantsOfTwoErasuresOfAClockCompare() async throws {
    let base = ImmediateClock()
    let first = AnyClock(base)
    let second = AnyClock<Duration>(first)
    let existential: any Clock<Duration> = base
    let third = AnyClock(existential)

    let deadline = first.now.advanced(by: .seconds(2))
    #expect(first.now == second.now)
    #expect(second.now == third.now)
    #expect(third.now < deadline)
    #expect(second.now.duration(to: deadline) == .seconds(2))
    #expect(deadline.duration(to: third.now) == .seconds(-2))
    #expect(Set([first.now, second.now, third.now, deadline]).count == 2)

    try await second.sleep(until: deadline)
    #expect(first.now == deadline)
    #expect(base.now.offset == .seconds(2))
  }

  @Test func erasuresOfOneClockHaveOneIdentity() {
    let base = TestClock()
    let existential: any Clock<Duration> = base
    #expect(AnyClock(base).id == AnyClock(existential).id)
    #expect(AnyClock(AnyClock(base)).id == AnyClock(base).id)
    #expect(AnyClock(base).id != AnyClock(TestClock()).id)
    // The clocks are kept: the memory of one that was freed may become another one, which then has its identity.
    let (one, other) = (ImmediateClock(), ImmediateClock())
    #expect(AnyClock(one).id != AnyClock(other).id)
    withExtendedLifetime((base, one, other)) {}

    #expect(AnyClock(ContinuousClock()).id == AnyClock(ContinuousClock()).id)
    #expect(AnyClock(ContinuousClock()).id != AnyClock(SuspendingClock()).id)
  }

  @Test func aClockWithoutAnIdentityEqualsItsCopiesOnly() {
    let clock = AnyClock(UnimplementedClock(name: "first"))
    let copy = clock
    #expect(clock.id == copy.id)
    #expect(clock.id != AnyClock(UnimplementedClock(name: "second")).id)
  }

  @Test func instantsOfRealClocksCompare() {
    let clock = AnyClock(ContinuousClock())
    let earlier = clock.now
    let later = AnyClock(ContinuousClock()).now
    #expect(earlier <= later)
    #expect(earlier < later.advanced(by: .seconds(1)))
    #expect(earlier.advanced(by: .seconds(1)).duration(to: earlier) == .seconds(-1))
  }

  @Test func instantsOfDifferentTypesDoNotCompare() {
    let one = AnyClock(ImmediateClock()).now
    let other = AnyClock(TestClock()).now
    #expect(one != other)
    #expect((one < other) != (other < one))
    #expect(one.duration(to: other) == .zero)
    #expect(other.duration(to: one) == .zero)
    #expect(Set([one, other]).count == 2)

    // All instants of one type come before those of the other.
    let ones = [one, one.advanced(by: .seconds(9))]
    let others = [other.advanced(by: .seconds(-9)), other]
    #expect(
      [one, other, ones[1], others[0]].sorted() == (one < other ? ones + others : others + ones))
  }

  @Test func sleepUntilAnInstantOfAnotherClockThrows() async {
    let clock = AnyClock(ImmediateClock())
    let deadline = AnyClock(TestClock()).now.advanced(by: .seconds(1))
    await #expect(throws: IncompatibleInstantError()) { try await clock.sleep(until: deadline) }
    #expect(
      "\(IncompatibleInstantError())"
        == "A clock cannot sleep until an instant of another kind of clock."
    )

    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: deadline)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func sleepForEver() async {
    let base = TestClock<Duration>(now: .init(offset: .seconds(1)))
    let clock = AnyClock(base)
    let task = Task { try await clock.sleep(for: Duration(attoseconds: .max)) }
    await base.settle()
    #expect(base.pendingSleeps.map(\.deadline.offset) == [Duration(attoseconds: .max)])
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func erasesAClockOfAnyDuration() async throws {
    let base = ImmediateClock<Beats>()
    let clock = AnyClock(base)
    try await clock.sleep(for: Beats(count: 4))
    #expect(base.now.offset == Beats(count: 4))
  }
}
