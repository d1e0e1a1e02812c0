import App
import ClocksTestKit
import Testing
import TimeoutTask
import VirtualClocks

/// Both modules in one graph, each under a name of its own.
@Suite struct TwoClocksTests {
  @Test func oursMovesTime() async {
    let clock = VirtualClocks.TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    await #expect(throws: Never.self) { try await task.value }
    #expect(clockOfTheApp.origin == "the other package")
  }

  @Test(.virtualTime) func theTestKitKnowsOurs() async throws {
    let time = try #require(VirtualTime.current)
    try await Task.sleep(for: .seconds(3600))
    #expect(time.now.offset == .seconds(3600))
  }
}
