import Clocks

/// Counts seconds, or anything.
actor Seconds {
  private(set) var count = 0

  /// A counter that counts the seconds of a clock from now on.
  static func counted(on clock: TestClock<Duration>) -> Seconds {
    let seconds = Seconds()
    Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        await seconds.add()
      }
    }
    return seconds
  }

  func add() { count += 1 }
}
