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
  private static let blocked = """
    A job of task # has held its thread for more than 0.5 seconds of real time, and the rest of the \
    test waits for it. A test's tasks run one at a time, so a job that blocks its thread (by a \
    semaphore, a lock, a synchronous wait) until another task has run waits forever: await the other task \
    instead. Or the job runs a loop that never suspends. `while true { try? await clock.sleep(…) }` becomes \
    such a loop when its task is cancelled: write `try`. In a scope, time stands still while jobs run, so a \
    loop that waits for `Date()` or `ContinuousClock.now` must sleep. The test goes on without the job; if the \
    test cannot end without it, \
    the other tests continue.
    It is 3.0 seconds. Pending sleeps: none
    """

  private static let tooLong = """
    withVirtualTime gave up at some time, because the test has run for more than 0.3 \
    seconds of real time. A loop \
    that waits for what never comes, or a heartbeat that no task ends, goes on forever in virtual time: end \
    it, wait for less, or allow more with `runningLimit:`. In a scope, time stands still while jobs run, so a \
    loop that waits for `Date()` or `ContinuousClock.now` must sleep. The operation has been cancelled. \
    Pending sleeps: some
    """

  private static let isOverdue = """
    It is still not over: it awaits something that does not react to cancellation, for example the value \
    of another task. So all its tasks have been cancelled, too.
    """

  private static let cancelled = "Caught error: CancellationError()"

  private static let neverIdles = """
    withVirtualTime expects that no task is left when its operation returns, but at 0.0 seconds task # still \
    runs: it yields in an endless loop.
    Await the task or cancel it before the operation returns.
    """

  @Test(arguments: [
    ("heartbeatSwallowsErrors", [blocked]),
    ("heartbeatSwallowsErrorsWithoutAnActor", [blocked]),
    ("pollsForEver", [tooLong, cancelled]),
    ("awaitsAHeartbeat", [tooLong + "\n" + isOverdue, cancelled]),
    ("leavesASpinnerBehind", [neverIdles]),
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
