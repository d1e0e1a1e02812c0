import Testing

@testable import ContextDemo

@Suite struct MusicSearchScenarioTests {
  @Test func theTimeline() async throws {
    let (entries, outcome) = try await PerformanceTests.perform(MusicSearchScenario.self)
    #expect(outcome.error == nil)
    #expect(
      entries == [
        .init(0, "caller", "asks a confused server for 'sun'"),
        .init(100, "callback", "does not understand the answer"),
        .init(100, "caller", "asks a failing server for 'sun'"),
        .init(200, "callback", "the server answered with status 500"),
        .init(200, "caller", "asks a good server for 'sun'"),
        .init(300, "callback", "found 1: [\"Here comes the sun\"]"),
        .init(1300, "caller", "has heard nothing for a second, as expected"),
      ])
  }
}
