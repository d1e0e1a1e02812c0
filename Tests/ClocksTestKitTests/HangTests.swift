import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// Tests with the trait that hang, or leave endless tasks behind.
///
/// They run only when `TraitHangTests` starts them in another process.
@Suite(.onlyIfAskedToBeStuck) struct HangingTraitTests {
  static let file = #filePath

  @Test(.virtualTime) func heartbeatSwallowsErrors() async throws {
    let beats = Seconds()
    Task {
      while true {
        try? await Task.sleep(for: .seconds(1))
        await beats.add()
      }
    }
    try await Task.sleep(for: .seconds(3))
    #expect(await beats.count == 2)
  }

  @Test(.virtualTime) func heartbeatSwallowsErrorsWithoutAnActor() async throws {
    let beats = Tally()
    Task {
      while true {
        try? await Task.sleep(for: .seconds(1))
        beats.add()
      }
    }
    try await Task.sleep(for: .seconds(3))
    #expect(beats.value == 2)
  }

  @Test(.virtualTime(runningLimit: .milliseconds(300))) func pollsForEver() async throws {
    let isReady = Tally()
    while isReady.value == 0 { try await Task.sleep(for: .milliseconds(10)) }
  }

  @Test(.virtualTime(stuckAfter: .milliseconds(300), runningLimit: .milliseconds(300)))
  func awaitsAHeartbeat() async throws {
    let heartbeat = Task(name: "beat") {
      while true { try await Task.sleep(for: .milliseconds(1)) }
    }
    try await heartbeat.value
  }

  @Test(.virtualTime(leftoverSleeps: .fail)) func leavesASpinnerBehind() async throws {
    Task { while !Task.isCancelled { await Task.yield() } }
    try await Task.sleep(for: .zero)
  }
}

/// Tests with the trait that hang are ended, with one failure each at their declaration.
@Suite struct TraitHangTests {
  private static let cancelled = "Caught error: CancellationError()"

  @Test(arguments: [
    ("heartbeatSwallowsErrors", [Reports.blockedInTrait]),
    ("heartbeatSwallowsErrorsWithoutAnActor", [Reports.blockedInTrait]),
    ("pollsForEver", [Reports.tooLong, cancelled]),
    ("awaitsAHeartbeat", [Reports.tooLong + Reports.isOverdue, cancelled]),
    ("leavesASpinnerBehind", [Reports.neverIdles]),
  ])
  func aTestThatWouldHangFailsAndEnds(_ test: String, reports: [String]) async throws {
    // A busy machine may exceed half a second, so only some tests have that limit.
    let seconds = reports[0].contains("0.5 seconds") ? "0.5" : "60"
    let child = try await Stuck.run("HangingTraitTests.*/\(test)\\(", blockedAfter: seconds)
    #expect(child.exitCode == 1, "\(child.standardOutput)")
    let issues = child.issues
    #expect(issues.map(\.textOfALoop) == reports)
    #expect(issues.allSatisfy { $0.test == test + "()" }, "\(issues)")
    let line = try SourceText(HangingTraitTests.file).declaration(ofTest: test)
    #expect(issues.allSatisfy { $0.line == line }, "\(issues), expected at \(line ?? 0)")
  }
}
