#if os(Linux) && compiler(>=6.3)
  import Foundation
  import TestTraits
  import Testing

  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  @testable import Clocks

  /// The hooks, and the executors that call them.
  @Suite struct RuntimeHooksTests {
    @Test func everyTaskCanBeWatchedButAnAsyncLet() async {
      #expect(await Task { RetainedTask.current?.isOver }.value == false)
      async let watched = RetainedTask.current?.isOver
      #expect(await watched == nil)
    }

    /// Dispatch writes nothing before it ends the process, so the body writes how far it has come.
    @Test func theMainExecutorEndsAProcessThatIsNotIsolated() async {
      let process = await #expect(
        processExitsWith: .signal(trapSignal), observing: [\.standardErrorContent]
      ) {
        func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
        await MainActor.run { MainActor.executor.checkIsolated() }
        write("isolated\n")
        await Task.detached { MainActor.executor.checkIsolated() }.value
        write("not isolated\n")
      }
      let text = String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
      #expect(text.contains("isolated\n") && !text.contains("not isolated"), "\(text)")
    }

    // MARK: - Hooks that are installed late

    @Test(arguments: [
      "testAClockMadeInAJobOfTheMainActor", "testPriorCustomExecutorsReceiveUnownedJobs",
    ])
    func theFirstClockInstallsTheHooks(_ test: String) async throws {
      let child = try await ChildProcess.runXCTestInDisguise(
        "LateHooksXCTests/\(test)", environment: [LateHooksXCTests.variable: "1"])
      #expect(child.exitCode == 0, "\(child)")
      #expect(
        child.standardOutput.lines(containing: "Executed 1 test, with 0 failures").count == 2,
        "\(child)")
      #expect(
        child.standardOutput.lines(containing: "the hooks were not installed").count == 1,
        "\(child)")
    }
  }

  /// Custom executors that delay their jobs by means of the default executor.
  @Suite(.unless(.executorsCannotDelay))
  struct DelayingExecutorTests {
    @Test(arguments: DelayingExecutor.Way.allCases)
    func aDelayedJobOfAnActorTakesVirtualTime(_ way: DelayingExecutor.Way) async throws {
      try await withVirtualTime { time in
        let actor = DelayedActor(by: .seconds(3600), way)
        for visit in 1...3 {
          #expect(await actor.visit() == visit)
          #expect(time.now.offset == .seconds(3600 * visit))
        }
      }
    }

    @Test(arguments: DelayingExecutor.Way.allCases)
    func aDelayedJobOutsideAScopeTakesRealTime(_ way: DelayingExecutor.Way) async {
      let start = ContinuousClock.now
      #expect(await DelayedActor(by: .milliseconds(5), way).visit() == 1)
      #expect(ContinuousClock.now - start >= .milliseconds(5))
    }

    @Test func aDelayedTaskDoesNotDependOnWhoMadeIt() async throws {
      try await withVirtualTime { time in
        let executor = DelayingExecutor(by: .seconds(3600))
        let task = Task(executorPreference: executor) { time.now.offset }
        await Task.yield()
        #expect(time.now.offset == .zero)
        try await Task.sleep(for: .seconds(1))
        #expect(time.now.offset == .seconds(1))
        #expect(await task.value == .seconds(3600))
      }
    }

    @Test func aDelayedTaskIsCancelledAndRunsAtTheEndOfTheScope() async throws {
      let log = Log<String>()
      try await withVirtualTime { time in
        let executor = DelayingExecutor(by: .seconds(3600))
        Task(name: "maker") {
          Task(executorPreference: executor) { log.add("\(time.now), \(Task.isCancelled)") }
        }
        try await Task.sleep(for: .seconds(1))
        let pending = time.clock.pendingSleeps
        #expect(pending.map(\.deadline.offset) == [.seconds(3600)])
        #expect(pending.map(\.taskName) == [nil])
      }
      #expect(log.all == ["1.0 seconds, true"])
    }
  }
#endif
