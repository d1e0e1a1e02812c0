import App
import ClocksTestKit
import Testing
import TimeoutTask
import VirtualClocks

/// Uses both modules in one file, each under a different name.
@Suite struct TwoClocksTests {
  @Test func testClockAdvancesTime() async {
    let clock = VirtualClocks.TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    await #expect(throws: Never.self) { try await task.value }
    #expect(clockOfTheApp.origin == "the other package")
  }

  @Test(.virtualTime) func virtualTimeWorksWithTheAlias() async throws {
    let time = try #require(VirtualTime.current)
    try await Task.sleep(for: .seconds(3600))
    #expect(time.now.offset == .seconds(3600))
  }
}
