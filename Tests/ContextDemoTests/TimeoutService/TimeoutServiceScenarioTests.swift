import Testing

@testable import ContextDemo

@Suite struct TimeoutServiceScenarioTests {
  @Test func theTimeline() async throws {
    let (entries, outcome) = try await PerformanceTests.perform(TimeoutServiceScenario.self)
    #expect(outcome.error == nil)
    #expect(
      entries == [
        .init(0, "service", "starts; 2.000 s allowed"),
        .init(1000, "handler", "done"),
        .init(2500, "service", "starts again; 0.500 s allowed"),
        .init(
          3000, "handler", "The operation timed out. The time allowed was 0.5 seconds."),
        .init(3000, "work", "is cancelled"),
        .init(5000, "service", "starts the first of two"),
        .init(5500, "service", "starts the second"),
        .init(5500, "work", "is cancelled"),
        .init(6500, "second", "done"),
        .init(8000, "service", "starts, to be released"),
        .init(8500, "service", "is released"),
        .init(8500, "work", "is cancelled"),
      ])
    #expect(outcome.elapsed == .milliseconds(11_000))
  }
}
