import Dispatch
import Testing

@testable import Clocks

/// Rings once, for what was asked for last.
@Suite struct AlarmClockTests {
  private func clock() -> (AlarmClock, rung: Log<Int>) {
    let (clock, rung) = (AlarmClock(), Log<Int>())
    clock.ring = { rung.add($0) }
    return (clock, rung)
  }

  @Test func whatWasAskedForLastCounts() async {
    let (clock, rung) = clock()
    clock.set(1, in: .milliseconds(1))
    clock.set(2, in: .milliseconds(120))
    await realTimePasses(0.06)
    #expect(rung.all == [])
    await realTimePasses(0.5)
    #expect(rung.all == [2])
  }

  @Test func anEarlierAlarmIsNotLate() async {
    let (clock, rung) = clock()
    clock.set(1, in: .seconds(600))
    clock.set(2, in: .milliseconds(1))
    await realTimePasses(0.5)
    #expect(rung.all == [2])
    clock.set(3, in: .milliseconds(1))
    await realTimePasses(0.5)
    #expect(rung.all == [2, 3])
  }
}
