import Testing
import TimeoutTask
import VirtualClocks

/// The module TimeoutTask has a type of the same name; `::` says that the module is meant.
@Suite struct ModuleNameTests {
  /// A function of one's own that hides the module's.
  private func withTimeout(_ text: String) -> String { text }

  @Test func theModulesFunctionHasAFullName() async throws {
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
