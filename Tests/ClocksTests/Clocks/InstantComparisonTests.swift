import Clocks
import Testing

/// Comparisons of instants with durations from the origin.
@Suite struct InstantComparisonTests {
  @Test func anInstantEqualsItsDistanceFromTheOrigin() async {
    let clock = TestClock(now: .init(offset: .seconds(5)))
    #expect(clock.now == .seconds(5))
    #expect(clock.now != .seconds(4))
    #expect(clock.now == .init(offset: .seconds(5)))
    #expect(clock.now > .seconds(4) && clock.now >= .seconds(5))
    #expect(clock.now < .seconds(6) && clock.now <= .seconds(5))
    #expect(!(clock.now < .seconds(5)) && !(clock.now > .seconds(5)))
    #expect(ImmediateClock().now == .zero)
  }

  @Test func anOptionalInstantIsComparedToo() async {
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(7)) }
    #expect(await clock.advanceToNextSleep() == .seconds(7))
    #expect(await clock.advanceToNextSleep() != .seconds(7))
    #expect(await clock.advanceToNextSleep() == nil)
    task.cancel()
  }

  @Test func arithmeticIsNotAmbiguous() {
    let now = ImmediateClock(now: .init(offset: .seconds(5))).now
    let later = now + .seconds(2)
    let earlier = now - .seconds(2)
    let distance = later - earlier
    #expect(distance == .seconds(4))
    #expect(now + .seconds(2) == .seconds(7))
    #expect([now, later].max() == .seconds(7))
  }
}
