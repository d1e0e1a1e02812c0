import Clocks
import Plugin
import Testing

@Suite struct TwoCopiesTests {
  @Test func print() { Swift.print(Plugin.selfTest); Swift.print(SchedulerCapability.selfTest) }

  @Test func theCopyInTheTestsSeesEverything() async throws {
    #expect(SchedulerCapability.missing.isEmpty)
    let clock = TestClock()
    let task = Task { try await Plugin.twoSeconds(on: clock) }
    await clock.advance(by: .seconds(2))
    #expect(try await task.value == "two seconds")
  }

  @Test func aTestClockOfTheOtherCopyFails() async throws {
    _ = await Plugin.second()
  }
  @Test func aScopeOfTheOtherCopyFails() async throws {
    _ = try await Plugin.hour()
  }
}
