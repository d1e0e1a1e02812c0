// The example in ImmediateClock.swift, word for word.

import Clocks
import Testing

private struct ConnectionLost: Error {}

private struct Upload<C: Clock<Duration>> {
  var clock: C
  var send: () async throws -> Void

  /// Sends, and tries again after 1, 2 and 4 seconds.
  func run() async throws {
    for pause in [1, 2, 4] {
      do {
        return try await send()
      } catch is ConnectionLost {
        try await clock.sleep(for: .seconds(pause))
      }
    }
    try await send()
  }
}

@Suite struct ImmediateClockExample {
  @Test func givesUpAfterFourAttemptsInSevenSeconds() async {
    let clock = ImmediateClock()
    var attempts = 0
    let upload = Upload(clock: clock) {
      attempts += 1
      throw ConnectionLost()
    }
    await #expect(throws: ConnectionLost.self) { try await upload.run() }
    #expect(attempts == 4)
    #expect(clock.now.offset == .seconds(7))
  }
}
