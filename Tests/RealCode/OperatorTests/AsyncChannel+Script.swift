import AsyncAlgorithms

extension AsyncChannel where Element == String {
  /// A channel on which a task sends each value at its time, in milliseconds from now, and which
  /// then ends.
  static func sending(_ script: [(at: Int, value: String)], on clock: some Clock<Duration>) -> Self {
    let channel = Self()
    start(script, clock, channel)
    return channel
  }

  private static func start<C: Clock<Duration>>(
    _ script: [(at: Int, value: String)], _ clock: C, _ channel: AsyncChannel<String>
  ) {
    let start = clock.now
    Task {
      for (time, value) in script {
        try await clock.sleep(until: start.advanced(by: .milliseconds(time)), tolerance: nil)
        await channel.send(value)
      }
      channel.finish()
    }
  }
}
