// The example in Clock+Sleep.swift, word for word.

import Clocks
import Testing

private struct Typewriter {
  var sleep: @Sendable (UInt64) async throws -> Void = Task.sleep(nanoseconds:)
  var type: @Sendable (Character) async -> Void

  func write(_ text: String) async throws {
    for character in text {
      try await sleep(50_000_000)
      await type(character)
    }
  }
}

@Suite struct SleepClosureExample {
  @Test func writesTwentyCharactersASecond() async throws {
    let clock = ImmediateClock()
    var typewriter = Typewriter(type: { _ in })
    typewriter.sleep = clock.sleep(nanoseconds:)
    try await typewriter.write("A line of twenty...!")
    #expect(clock.now.offset == .seconds(1))
  }
}
