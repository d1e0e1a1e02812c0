import Clocks
import NIOPosix
import Testing

/// SwiftNIO as the global executor takes all jobs, so a test clock sees none.
@Suite struct GlobalExecutorTests {
  @Test func aClockSaysThatItSeesNoTasks() async {
    await #expect(processExitsWith: .success) {
      #expect(SchedulerCapability.missing == [])
      #expect(
        NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor())
      let clock = TestClock()
      #expect(SchedulerCapability.current == .patience)
      #expect(SchedulerCapability.missing.first == "tasks")
      await withKnownIssue {
        await clock.advance(by: .seconds(-1))
      } matching: {
        "\($0)".contains("Note: this process has the capability patience")
      }
    }
  }
}
