import Dispatch
import Foundation
import Testing
import XCTest

@testable import Clocks

/// Tests that would hang. They run only in child processes of other tests.
@Suite(.onlyInChild(ChildVariable.hang)) struct HangingTests {
  static let file = #filePath

  /// The process ends after two minutes in any case.
  init() { alarm(120) }

  private actor Heartbeats {
    private var count = 0
    func beat() { count += 1 }
  }

  @Test func heartbeatThatTheBodyAwaits() async throws {
    await #expect(throws: CancellationError.self) {
      try await withVirtualTime(runningLimit: .milliseconds(300)) { _ in
        try await withThrowingTaskGroup { group in
          group.addTask { while true { try await Task.sleep(for: .milliseconds(1)) } }
          try await group.next()
        }
      }
    }
  }

  @Test func heartbeatThatIgnoresCancellation() async throws {
    await #expect(throws: CancellationError.self) {
      try await withVirtualTime(
        stuckAfter: .milliseconds(300), runningLimit: .milliseconds(300)
      ) { _ in
        let beat = Task(name: "beat") { while true { try await Task.sleep(for: .milliseconds(1)) } }
        try await beat.value
      }
    }
  }

  @Test func exitTestThatIsStuck() async throws {
    await #expect(processExitsWith: .failure) {
      try await withVirtualTime(stuckAfter: .milliseconds(200)) { _ in
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
      }
    }
  }

  @Test func readerOfAnUnfinishedStream() async throws {
    try await withVirtualTime(stuckAfter: .milliseconds(200)) { _ in
      let (stream, source) = AsyncStream<Int>.makeStream()
      let reader = Task(name: "reader") { for await _ in stream {} }
      await reader.value
      withExtendedLifetime(source) {}
    }
  }

  @Test func bodyThatPollsForEver() async throws {
    let isReady = Tally()
    await #expect(throws: CancellationError.self) {
      try await withVirtualTime(runningLimit: .milliseconds(300)) { _ in
        while isReady.value == 0 { try await Task.sleep(for: .milliseconds(10)) }
      }
    }
  }

  @Test func leftoverThatSwallowsCancellation() async throws {
    let beats = Tally()
    try await withVirtualTime { _ in
      Task {
        while true {
          try? await Task.sleep(for: .seconds(1))
          beats.add()
        }
      }
      try await Task.sleep(for: .seconds(3))
    }
    #expect(beats.value >= 2)
  }

  @Test func leftoverWithAnActorThatSwallowsCancellation() async throws {
    let beats = Heartbeats()
    try await withVirtualTime { _ in
      Task {
        while true {
          try? await Task.sleep(for: .seconds(1))
          await beats.beat()
        }
      }
      try await Task.sleep(for: .seconds(3))
    }
  }

  @Test func cancelledHeartbeatOnATestClock() async {
    let clock = TestClock()
    let beats = Tally()
    let task = Task {
      while true {
        try? await clock.sleep(for: .seconds(1))
        beats.add()
      }
    }
    await clock.advance(by: .seconds(3))
    #expect(beats.value == 3)
    task.cancel()
    await clock.settle()
  }

  @Test func spinnerThatAnAdvanceWaitsFor() async {
    let clock = TestClock()
    let stop = Tally()
    let task = Task { while stop.value == 0 {} }
    await clock.advance(by: .seconds(1))
    stop.add()
    await task.value
    #expect(clock.now.offset == .seconds(1))
  }

  /// Twice as many as the pool has threads.
  @Test(arguments: 0..<(2 * ProcessInfo.processInfo.activeProcessorCount))
  func spinnersThatTakeAllThreads(_: Int) async {
    await spinnerThatAnAdvanceWaitsFor()
  }

  @Test func leftoverThatYieldsForEver() async throws {
    try await withVirtualTime(leftoverSleeps: .fail) { time in
      time.scheduler.change { $0.runaway.limits.jobs = 100_000 }
      Task { while !Task.isCancelled { await Task.yield() } }
      try await Task.sleep(for: .zero)
    }
  }

  @Test func leftoverThatYieldsForEverAndIgnoresCancellation() async throws {
    let yields = Tally()
    try await withVirtualTime { time in
      time.scheduler.change { $0.runaway.limits.jobs = 100_000 }
      Task {
        while true {
          await Task.yield()
          yields.add()
        }
      }
      try await Task.sleep(for: .zero)
    }
    // It does not run any more.
    let count = yields.value
    await realTimePasses(0.1)
    #expect(yields.value == count)
  }

  @Test func clockThatAHelperMade() async {
    let helper = Task { TestClock() }
    let clock = await helper.value
    await #expect(throws: CancellationError.self) { try await clock.sleep(for: .seconds(1)) }
  }

  @Test func clockThatOutlivesItsScope() async throws {
    let clock = try await withVirtualTime { _ in TestClock() }
    await #expect(throws: CancellationError.self) { try await clock.sleep(for: .seconds(1)) }
  }

  // MARK: - What ends

  @Test func leftoverThatYieldsUntilItIsCancelled() async throws {
    try await withVirtualTime { _ in
      Task { while !Task.isCancelled { await Task.yield() } }
      try await Task.sleep(for: .zero)
    }
  }

  @Test func taskThatOutlivesItsScope() async throws {
    let (stream, source) = AsyncStream<Void>.makeStream()
    let (clock, task) = try await withVirtualTime { _ in
      let clock = TestClock()
      return (clock, Task { for await _ in stream { try await Task.sleep(for: .milliseconds(1)) } })
    }
    source.yield()
    source.finish()
    try await task.value
    withExtendedLifetime(clock) {}
  }

  @Test func otherClockIsWaitedFor() async throws {
    let (clock, other) = (TestClock(), TestClock())
    Task { try await other.sleep(for: .seconds(1)) }
    onAThread(after: 1.2) {
      Task { try await clock.sleep(for: .seconds(1)) }
    }
    try await clock.waitForSleeps()
    await clock.advance(by: .seconds(1))
    await other.advance(by: .seconds(1))
  }

  /// The leftovers of a test that is over do not count as a standstill while another test is slow.
  @Test(arguments: 1...2) func leftoverThatSleepsWhenTheTestIsOver(_ number: Int) async {
    guard number == 1 else { return await realTimePasses(1.5) }
    let helper = Task { TestClock() }
    let clock = await helper.value
    Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
  }
}

/// Runs only if a parent process asks for it.
final class ForgetfulXCTests: XCTestCase {
  static let line: Int = #line + 6

  private var isAsked: Bool { ProcessInfo.processInfo.environment[ChildVariable.hang] != nil }

  func testForgetsToAdvance() async throws {
    try XCTSkipUnless(isAsked)
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    _ = await task.result
  }

  func testSleepsForAWhile() async throws {
    try XCTSkipUnless(isAsked)
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    // On a busy machine the watchdog checks late, and the names for the list of tasks take seconds to find.
    await realTimePasses(30)
    await clock.advance(by: .seconds(1))
    try await task.value
  }
}
