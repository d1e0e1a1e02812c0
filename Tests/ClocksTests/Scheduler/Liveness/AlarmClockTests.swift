import ClocksSupport
import Testing

@testable import Clocks

/// The alarm clock rings once, for the latest alarm that was set, and not earlier.
@Suite struct AlarmClockTests {
  /// Returns the first `count` numbers with which a clock rings that `set` has set.
  private func rings(_ count: Int, _ set: (AlarmClock, [Int]) -> Void) async -> [Int] {
    let clock = AlarmClock()
    let (stream, source) = AsyncStream<Int>.makeStream()
    clock.ring = { source.yield($0) }
    var rung: [Int] = []
    set(clock, rung)
    guard count > 0 else { return [] }
    for await number in stream {
      rung.append(number)
      if rung.count == count { break }
      set(clock, rung)
    }
    return rung
  }

  @Test(.timeLimit(.minutes(10))) func theLatestAlarmCounts() async {
    var (rung, isLate) = ([Int](), true)
    // The thread may lose its processor between the two calls.
    while isLate {
      let due = RealTime(in: .seconds(1))
      rung = await rings(1) { clock, _ in
        let first = RealTime(in: .milliseconds(500))
        clock.set(1, in: .milliseconds(500))
        clock.set(2, in: .seconds(1))
        isLate = first.hasPassed
      }
      #expect(isLate || due.hasPassed)
    }
    #expect(rung == [2])
  }

  @Test(.timeLimit(.minutes(10))) func anAlarmThatIsSetTooLateDoesNotReplaceANewerOne() async {
    let rung = await rings(1) { clock, _ in
      clock.set(2, in: .milliseconds(20))
      clock.set(1, in: .milliseconds(10))
    }
    #expect(rung == [2])
  }

  @Test(.timeLimit(.minutes(10))) func anEarlierAlarmIsNotLateAndRingsOnce() async {
    let rung = await rings(3) { clock, rung in
      if rung.isEmpty { clock.set(0, in: .seconds(600)) }
      clock.set(rung.count + 1, in: .milliseconds(20))
    }
    #expect(rung == [1, 2, 3])
  }
}
