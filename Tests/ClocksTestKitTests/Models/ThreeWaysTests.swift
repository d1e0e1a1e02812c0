import Clocks
import ClocksTestKit
import Foundation
import Testing

/// The same models three ways: with an injected test clock, with sleeps that nobody injected in a
/// scope of virtual time, and for real. The logs are the same.
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
  func withSleepsThatNobodyInjected(_ model: Models) async throws {
    let start = ContinuousClock.now
    let times = Times(
      unit: .seconds(1), sleep: { try await Task.sleep(for: $0) },
      elapsed: { start.duration(to: .now) })
    let log = EventLog(times)
    try await model.run(times, log)
    #expect(await log.events == model.expected)
  }

  @Test(arguments: Models.allCases.filter(\.isCausal))
  func forReal(_ model: Models) async throws {
    let (names, expected) = try await runForReal(model, unit: .milliseconds(2))
    #expect(names == expected)
  }

  /// Which of two real sleeps is over first depends on how busy the machine is, so this one runs only
  /// where somebody has said that it is quiet.
  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["CLOCKS_QUIET_MACHINE"] != nil),
    arguments: Models.allCases.filter { !$0.isCausal })
  func forRealOnAQuietMachine(_ model: Models) async throws {
    let (names, expected) = try await runForReal(model, unit: .milliseconds(20))
    #expect(names == expected)
  }

  private func runForReal(_ model: Models, unit: Duration) async throws -> ([String], [String]) {
    let start = ContinuousClock.now
    let times = Times(
      unit: unit, sleep: { try await Task.sleep(for: $0) }, elapsed: { start.duration(to: .now) })
    let log = EventLog(times)
    try await model.run(times, log)
    return (await log.names, model.expected.map { String($0.drop { $0 != " " }.dropFirst()) })
  }
}
