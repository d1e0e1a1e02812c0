// The example in AnyClock.swift, word for word.

import Clocks
import Testing

private actor Session {
  private let clock: AnyClock<Duration>
  private var expiry: AnyClock<Duration>.Instant

  init(clock: some Clock<Duration>) {
    self.clock = AnyClock(clock)
    expiry = self.clock.now.advanced(by: .seconds(600))
  }

  var isExpired: Bool { clock.now >= expiry }

  func touch() {
    guard !isExpired else { return }
    expiry = clock.now.advanced(by: .seconds(600))
  }
}

@Suite struct AnyClockExample {
  @Test func sessionExpiresTenMinutesAfterTheLastTouch() async {
    let clock = TestClock()
    let session = Session(clock: clock)
    await clock.advance(by: .seconds(400))
    await session.touch()
    await clock.advance(by: .seconds(599))
    #expect(await !session.isExpired)
    await clock.advance(by: .seconds(1))
    #expect(await session.isExpired)
  }
}
