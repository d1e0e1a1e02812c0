import Testing
import TimeoutTask
import VirtualClocks

/// The module TimeoutTask contains a type of the same name; `::` selects the module.
@Suite struct ModuleNameTests {
  /// Shadows the function of the module.
  private func withTimeout(_ text: String) -> String { text }

  @Test func moduleSelectorFindsTheFunction() async throws {
    let clock = TestClock()
    let work = Task {
      try await TimeoutTask::withTimeout(.seconds(2), clock: clock) {
        try await clock.sleep(for: .seconds(1))
        return "done"
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(try await work.value == "done")
    #expect(withTimeout("mine") == "mine")
  }
}
