import ClocksSupport
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Each hook strategy, forced in a child process.
@Suite struct HookStrategyTests {
  #if compiler(>=6.3)
    private static let strategies = HookStrategy.allCases
  #else
    private static let strategies: [HookStrategy] = [.scan, .table, .hook, .none]
  #endif

  @Test(.enabled(if: areThreadsShown), arguments: strategies)
  func theSelfTestMeasuresWhatAStrategySees(_ strategy: HookStrategy) async throws {
    let child = try await run("HookReports.*/aSelfTestIsRepeatable\\(", strategy)
    #expect(child.exitCode == 0, "\(child)")
    #expect(
      child.standardOutput.lines(containing: "self-test:") == [
        "self-test: \(expectedSelfTest(strategy))"
      ], "\(child)")
  }

  private func expectedSelfTest(_ strategy: HookStrategy) -> String {
    switch strategy {
    case .none:
      """
      capability patience, hook strategy none, not seen: tasks, the main actor, Task.yield, \
      un-injected sleeps, work on dispatch queues
      """
    case .hook:
      """
      capability enqueueHook, hook strategy hook, not seen: the main actor, Task.yield, \
      un-injected sleeps, work on dispatch queues
      """
    default: "capability executors, hook strategy \(strategy), everything is seen"
    }
  }

  /// The guarantees, on the pool and on the main actor, with yields and with un-injected sleeps.
  ///
  /// The strategy of this process is left out, because the suites also run here.
  @Test(
    arguments: strategies.filter {
      $0 != .hook && $0 != .none && $0.rawValue != SchedulerCapability.selfTest.strategy
    })
  func theGuaranteesHoldWith(_ strategy: HookStrategy) async throws {
    let child = try await run(
      "SemanticsTests|VirtualTimeTests|LowerCapabilities|HookReports", strategy)
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("tests in 4 suites passed after"), "\(child)")
  }

  @Test(arguments: [HookStrategy.hook, .none])
  func failuresSayWhatIsMissing(_ strategy: HookStrategy) async throws {
    let child = try await run("CapabilityNoteTests", strategy)
    #expect(child.exitCode == 0, "\(child)")
    #expect(child.standardError.contains("1 test in 1 suite passed after"), "\(child)")
  }

  /// An earlier version had the strategy `create`.
  @Test(arguments: ["garage", "create"])
  func anUnknownStrategyEndsTheProcess(_ name: String) async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "HookReports", environment: ["CLOCKS_DOOR": name])
    #expect(child.exitCode == 2)
    #expect(
      child.standardError == """
        error: CLOCKS_DOOR is "\(name)", but can only be one of: spi, scan, table, hook, none. \
        Unset it for the default: the best one that works.

        """)
    #expect(child.standardOutput == "")
  }

  private func run(_ tests: String, _ strategy: HookStrategy) async throws -> ChildProcess {
    try await ChildProcess.runSwiftTesting(tests, environment: ["CLOCKS_DOOR": "\(strategy)"])
  }
}

/// Run by `HookStrategyTests`: what the hooks see in this process.
@Suite struct HookReports {
  @Test func aSelfTestIsRepeatable() {
    print("self-test: \(SchedulerCapability.selfTest)")
    let strategy = HookStrategy(rawValue: SchedulerCapability.selfTest.strategy)!
    // The scheduler of the test's clock must not see the jobs of the self-test.
    let clock = TestClock()
    for _ in 0..<100 { #expect(SchedulingSelfTest(strategy) == SchedulerCapability.selfTest) }
    #expect(clock.scheduler.change { $0.idleness.ready.isEmpty })
  }

  @Test func aSelfTestOnTheMainActorIsTheSame() async {
    await MainActor.run {
      let strategy = HookStrategy(rawValue: SchedulerCapability.selfTest.strategy)!
      for _ in 0..<100 { #expect(SchedulingSelfTest(strategy) == SchedulerCapability.selfTest) }
    }
  }

  #if os(Linux)
    /// What the linker has made read-only is so again after functions and methods in it were replaced.
    @Test func noReadOnlyPageIsLeftWritable() throws {
      NondeterminismHooks.redirect()
      RuntimeClocks.redirectForExplored()
      let mappings = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
      let writable = mappings.split(separator: "\n").compactMap { line -> Range<UInt>? in
        let fields = line.split(separator: " ")
        let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        return fields[1].contains("w") ? bounds[0]..<bounds[1] : nil
      }
      let readOnly = LoadedImage.all.filter { !$0.readOnlyData.isEmpty }
      #if compiler(>=6.3)
        // With Debian's Swift 6.2, the linker makes nothing in the program read-only.
        #expect(readOnly.contains { $0.path.isEmpty })
      #endif
      #expect(readOnly.contains { $0.isNamed("libswift_Concurrency") })
      #expect(readOnly.contains { $0.isNamed("libFoundation") })
      for image in readOnly {
        for page in image.readOnlyData {
          #expect(!writable.contains { $0.overlaps(page) }, "\(image.path)")
        }
      }
    }
  #endif

  @Test func mainActorJobsRunOnTheMainThread() async {
    for _ in 0..<1000 {
      await Task.detached { @MainActor in
        MainActor.preconditionIsolated()
        #expect(RuntimeHooks.isOnMainQueue)
      }.value
    }
  }

  @Test func aSleepOutsideAScopeTakesRealTime() async throws {
    for delay in [Duration.milliseconds(1), .milliseconds(20), .microseconds(10)] {
      for clock in [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] {
        let start = ContinuousClock.now
        try await clock.sleep(for: delay)
        #expect(ContinuousClock.now - start >= delay)
      }
      let start = ContinuousClock.now
      try await Task.sleep(nanoseconds: UInt64(delay / .nanoseconds(1)))
      #expect(ContinuousClock.now - start >= delay)
    }
  }

  /// `Task.immediate` returns when its task is suspended for the first time: in its sleep.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func aSleepOutsideAScopeCanBeCancelled() async throws {
    let sleeper = Task.immediate { try await Task.sleep(for: .seconds(1_000_000_000_000)) }
    sleeper.cancel()
    let ended = await unlessItHangs(seconds: 100) { await sleeper.result }
    let result = try #require(ended)
    #expect(throws: CancellationError.self) { try result.get() }
  }
}

/// Run by `HookStrategyTests` with lower capabilities: every failure says what is not seen.
@Suite struct CapabilityNoteTests {
  @Test func aFailureSaysWhatIsNotSeen() async throws {
    let clock = TestClock()
    let issues = try await recordedIssues {
      recordFailure("Sea is not wet.", at: CallSite())
      await clock.advance(by: .seconds(-1))
    }
    let errors: [any Error] = [
      SuspensionError(now: "0", pendingSleeps: []),
      SleepArrivalError(expected: 1, pendingSleeps: [], timeout: .seconds(1)),
    ]
    let texts = issues.map(\.message) + errors.map { "\($0)" }
    #expect(texts.count == 4)
    let selfTest = SchedulerCapability.selfTest
    let isAnyMissing = selfTest.missing != selfTest.hiddenFiles
    #expect(texts.allSatisfy { $0.contains("Note: ") == isAnyMissing })
    let hidden = [
      "hook": "the main actor, Task.yield, un-injected sleeps, work on dispatch queues",
      "none": "tasks, the main actor, Task.yield, un-injected sleeps, work on dispatch queues",
    ]
    guard let unseen = hidden[selfTest.strategy] else { return }
    let note = """

      Note: this process has the capability \(selfTest.capability) (hook strategy \(selfTest.strategy)), so a \
      test clock cannot see: \(unseen). A test that uses what is not seen may fail for that reason alone.
      """
    #expect(texts.allSatisfy { $0.hasSuffix(note) }, "\(texts)")
  }
}
