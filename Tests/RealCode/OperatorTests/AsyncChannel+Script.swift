import AsyncAlgorithms

/// Values to send, with their times in milliseconds from the beginning.
typealias Script = [(at: Int, value: String)]

extension AsyncChannel where Element == String {
  /// Returns a channel on which a task sends each value at its time, and which then finishes.
  static func sending<C: Clock<Duration>>(_ script: Script, on clock: C) -> AsyncChannel<String> {
    let channel = AsyncChannel<String>()
    let start = clock.now
    Task {
      for (time, value) in script {
        try await clock.sleep(until: start.advanced(by: .milliseconds(time)), tolerance: nil)
        await channel.send(value)
      }
      channel.finish()
    }
    return channel
  }
}
