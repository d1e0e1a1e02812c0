import Clocks
import ClocksTestKit
import Foundation
import Testing

/// The same models with an injected test clock, with un-injected sleeps in a scope, and in real time.
///
/// The events and their order are equal; in virtual time, the instants, too.
@Suite struct ThreeWaysTests {
  @Test(.repeated(100), arguments: Models.allCases)
  func withAnInjectedClock(_ model: Models) async throws {
    let clock = TestClock()
    let times = Times(
      unit: .seconds(1), sleep: { try await clock.sleep(for: $0) }, elapsed: { clock.now.offset })
    let log = EventLog(times)
    let task = Task { try await model.run(times, log) }
    await clock.run()
    try await task.value
    #expect(await log.events == model.expected)
  }

  @Test(.repeated(100), .virtualTime, arguments: Models.allCases)
  func withUninjectedSleeps(_ model: Models) async throws {
    let start = ContinuousClock.now
    let times = Times(
      unit: .seconds(1), sleep: { try await Task.sleep(for: $0) },
      elapsed: { start.duration(to: .now) })
    let log = EventLog(times)
    try await model.run(times, log)
    #expect(await log.events == model.expected)
  }

  @Test(arguments: Models.allCases.filter(\.isCausal))
  func inRealTime(_ model: Models) async throws {
    #expect(try await namesInRealTime(model, unit: .milliseconds(2)) == model.expectedNames)
  }

  /// Which of two real sleeps ends first depends on the load of the machine. So this test runs only if the
  /// environment says that the machine is quiet.
  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["CLOCKS_TESTS_QUIET_MACHINE"] != nil),
    arguments: Models.allCases.filter { !$0.isCausal })
  func forRealOnAQuietMachine(_ model: Models) async throws {
    #expect(try await namesInRealTime(model, unit: .milliseconds(20)) == model.expectedNames)
  }

  private func namesInRealTime(_ model: Models, unit: Duration) async throws -> [String] {
    let start = ContinuousClock.now
    let times = Times(
      unit: unit, sleep: { try await Task.sleep(for: $0) }, elapsed: { start.duration(to: .now) })
    let log = EventLog(times)
    try await model.run(times, log)
    return await log.names
  }
}
