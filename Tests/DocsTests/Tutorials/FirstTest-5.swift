import Clocks
import Testing

/// Says when the tea is ready.
private actor Kitchen {
  private let clock: any Clock<Duration>
  private(set) var said: [String] = []

  init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
  }

  func brew() async throws {
    try await clock.sleep(for: .seconds(180))
    said.append("The tea is ready.")
  }
}

@Suite private struct KitchenTests {
  @Test func threeMinutes() async throws {
    let clock = TestClock()
    let kitchen = Kitchen(clock: clock)
    let tea = Task { try await kitchen.brew() }

    await clock.advance(by: .seconds(179))
    #expect(await kitchen.said == [])
    await clock.advance(by: .seconds(1))
    #expect(await kitchen.said == ["The tea is ready."])
    try await tea.value
    try await clock.checkSuspension()
  }

  @Test func cancelsTheTea() async throws {
    let clock = TestClock()
    let kitchen = Kitchen(clock: clock)
    let tea = Task { try await kitchen.brew() }
    await clock.advance(by: .seconds(60))
    #expect(clock.pendingSleeps.map(\.deadline.offset) == [.seconds(180)])

    tea.cancel()
    await #expect(throws: CancellationError.self) { try await tea.value }
    try await clock.checkSuspension()
  }
}
