import Clocks
import Testing

/// Says a message again and again, until it is cancelled.
actor Reminder {
  private let clock: any Clock<Duration>
  private(set) var said: [String] = []

  init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
  }

  func remind(_ message: String, every interval: Duration) async throws {
    while true {
      try await clock.sleep(for: interval)
      said.append(message)
    }
  }
}

@Test func remindsEveryHour() async {
  let clock = TestClock()
  let reminder = Reminder(clock: clock)
  let task = Task { try await reminder.remind("Drink something.", every: .seconds(3600)) }

  await clock.advance(by: .seconds(3599))
  #expect(await reminder.said == [])
  await clock.advance(by: .seconds(1))
  #expect(await reminder.said == ["Drink something."])
  await clock.advance(by: .seconds(7200))
  #expect(await reminder.said.count == 3)
  task.cancel()
}
