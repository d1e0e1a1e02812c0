// The example in UnimplementedClock.swift, word for word.

import Clocks
import Testing

private struct Search<C: Clock<Duration>> {
  var clock: C
  var find: (String) async throws -> [String]

  /// Waits for the typing to stop, but shows the empty list for an empty query right away.
  func results(for query: String) async throws -> [String] {
    guard !query.isEmpty else { return [] }
    try await clock.sleep(for: .milliseconds(300))
    return try await find(query)
  }
}

@Suite struct UnimplementedClockExample {
  @Test func emptyQueryIsAnsweredWithoutDelay() async throws {
    let search = Search(clock: .unimplemented(name: "Search.clock")) { _ in ["Swift"] }
    #expect(try await search.results(for: "") == [])
  }
}
