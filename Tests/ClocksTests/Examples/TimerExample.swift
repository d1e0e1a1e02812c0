// The example in ClockTimerSequence.swift, word for word.

import Clocks
import Testing

private actor TeaTimer<C: Clock<Duration>> {
  private let clock: C
  private(set) var display = ""

  init(clock: C) { self.clock = clock }

  func brew(minutes: Int) async {
    var left = minutes
    for await _ in clock.timer(interval: .seconds(60)) {
      left -= 1
      display = left == 0 ? "Tea!" : "\(left) min"
      if left == 0 { return }
    }
  }
}

@Suite struct TimerExample {
  @Test func showsTheMinutesThatAreLeft() async {
    let clock = TestClock()
    let timer = TeaTimer(clock: clock)
    Task { await timer.brew(minutes: 3) }
    await clock.advance(by: .seconds(60))
    #expect(await timer.display == "2 min")
    await clock.advance(by: .seconds(119))
    #expect(await timer.display == "1 min")
    await clock.advance(by: .seconds(1))
    #expect(await timer.display == "Tea!")
  }
}
