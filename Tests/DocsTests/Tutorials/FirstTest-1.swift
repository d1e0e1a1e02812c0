import Clocks

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
