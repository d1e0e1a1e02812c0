import Testing

@testable import ContextDemo

@Suite struct OrdersScenarioTests {
  @Test func itIsFoundReplayedAndCorrected() async throws {
    let (entries, outcome) = try await PerformanceTests.perform(OrdersScenario.self)
    #expect(outcome.error == nil)
    let texts = entries.map(\.what)
    #expect(texts.first == "a cache that stores when it has downloaded")
    #expect(texts.contains("2 downloads of one picture"))
    #expect(texts.contains { $0.hasPrefix("Replay: 1:") })
    #expect(entries.filter { $0.who == "replay" }.map(\.what) == ["2 downloads of one picture"])
    #expect(texts.last?.hasSuffix("schedules") == true)
    #expect(texts.last?.contains("different orders") == true)
  }
}
