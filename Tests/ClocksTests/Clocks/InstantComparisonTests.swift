import Clocks
import Testing

/// Instants that are written like their distance from the origin.
@Suite struct InstantComparisonTests {
  @Test func anInstantIsWrittenLikeItsDistanceFromTheOrigin() async {
    let clock = TestClock(now: .seconds(5))
    #expect(clock.now == .seconds(5))
    #expect(clock.now != .seconds(4))
    #expect(clock.now == .init(offset: .seconds(5)))
    #expect(clock.now > .milliseconds(4_999) && clock.now <= .microseconds(5_000_000))
    #expect(clock.now == .seconds(5.0) && clock.now == .milliseconds(5000.0))
    #expect(clock.now == .nanoseconds(5_000_000_000))
    #expect(ImmediateClock().now == .zero)
    await clock.advance(to: .seconds(7))
    #expect([clock.now] == [.seconds(7)])
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
    let now = ImmediateClock(now: .seconds(5)).now
    let later = now + .seconds(2)
    let earlier = now - .seconds(2)
    let distance = later - earlier
    #expect(distance == .seconds(4))
    #expect(now + .seconds(2) == .seconds(7))
    #expect(now - .zero == now)
    #expect([now, later].max() == .seconds(7))
    var moved = now
    moved += .seconds(1)
    moved -= .milliseconds(500)
    #expect(moved.offset == .seconds(5.5))
  }

  @Test func subtractionSaturates() {
    let least = Duration(attoseconds: .min)
    let last = ImmediateClock<Duration>.Instant(offset: Duration(attoseconds: .max))
    var moved = ImmediateClock<Duration>.Instant(offset: .zero)
    #expect(moved - least == last)
    moved -= least
    #expect(moved == last)
    #expect(last - least == last)
  }
}
