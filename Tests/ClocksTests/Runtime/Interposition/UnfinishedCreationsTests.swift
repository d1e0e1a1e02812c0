#if os(Linux) && canImport(Glibc)
  import Foundation
  import TestTraits
  import Testing

  @testable import Clocks

  @Suite struct UnfinishedCreationsTests {
    /// On a busy machine, the thread that creates a task may have no processor for a long time.
    ///
    /// In a process of its own, because the creation delays all tests.
    @Test func aThreadWaitsForACreationThatTakesLong() async {
      await #expect(processExitsWith: .success) {
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let hasEnded = Tally()
        Thread.detachNewThread {
          UnfinishedCreations.during {
            hasBegun.signal()
            mayEnd.wait()
            usleep(300_000)
            hasEnded.add()
          }
        }
        hasBegun.wait()
        UnfinishedCreations.awaitOwner(of: .max, mayGiveUp: true)
        #expect(hasEnded.value == 0)
        mayEnd.signal()
        UnfinishedCreations.awaitOwner(of: .max)
        #expect(hasEnded.value == 1)
      }
    }

    /// Whether one of some calls returns without a wait. On a busy machine, a call may take long without one, too.
    private static func returnsImmediately(_ call: () -> Void) -> Bool {
      let clock = ContinuousClock()
      return (1...5).contains { _ in clock.measure(call) < .milliseconds(500) }
    }

    /// The `enqueue` of an executor may wait for the thread that runs the job.
    @Test func noThreadWaitsForAnExecutorThatWaits() async {
      await #expect(processExitsWith: .success) {
        let (willWait, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
          UnfinishedCreations.during(runsUserCode: true) {
            willWait.signal()
            mayEnd.wait()
          }
        }
        willWait.wait()
        #expect(Self.returnsImmediately { _ = UnfinishedCreations.awaitTestCase(of: .max) })
        mayEnd.signal()
      }
    }

    /// An executor may run a job for long within its `enqueue`.
    @Test func noOtherThreadWaitsLongForAnExecutorThatRunsAJob() async {
      await #expect(processExitsWith: .success) {
        let hasBegun = DispatchSemaphore(value: 0)
        let (isOver, hasEnded) = (Tally(), Tally())
        Thread.detachNewThread {
          UnfinishedCreations.during(runsUserCode: true) {
            hasBegun.signal()
            let end = ContinuousClock.now + .seconds(8)
            while isOver.value == 0, ContinuousClock.now < end {}
            hasEnded.add()
          }
        }
        hasBegun.wait()
        // The creation cannot make a task that is older than its creator.
        #expect(UnfinishedCreations.awaitTestCase(of: 0) == 0)
        #expect(Self.returnsImmediately { UnfinishedCreations.awaitOwner(of: .max) })
        #expect(UnfinishedCreations.awaitTestCase(of: .max) == .max)
        #expect(hasEnded.value == 0)
        isOver.add()
      }
    }

    @Test(arguments: ["anExecutorsTask", "aTaskThatRunsWithinEnqueue", "anActorsTask"])
    func whatATaskCreatesIsNotedAlthoughItsOwnCreationHasNotEnded(sample: String) async throws {
      let child = try await ChildProcess.runSwiftTesting(
        "UnfinishedCreationSample/\(sample)", environment: [ChildVariable.unfinishedCreation: "1"])
      #expect(child.exitCode == 0, "\(child)")
      #expect(child.standardError.contains("Test run with 1 test"), "\(child)")
    }
  }

  @Suite(.onlyInChild(ChildVariable.unfinishedCreation), .serialized)
  struct UnfinishedCreationSample {
    @globalActor private actor Elsewhere { static let shared = Elsewhere() }

    private final class Executor: TaskExecutor {
      /// Returns only after the job has long begun, although nothing keeps the thread from running.
      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        let start = ContinuousClock.now
        while start.duration(to: .now) < .milliseconds(100) {}
      }
    }

    private final class ImmediateExecutor: TaskExecutor {
      func enqueue(_ job: consuming ExecutorJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }

    private static func createsMember() async -> Bool {
      let (ends, end) = AsyncStream.makeStream(of: Void.self)
      let task = Task.detached { for await _ in ends {} }
      let isMember = TestCaseMembership.isMember(RetainedTask.retaining(task).id)
      end.finish()
      await task.value
      return isMember
    }

    /// First in a process without clocks, then beside a clock that belongs to no test.
    @Test(arguments: [false, true]) func anExecutorsTask(isAnyOwner: Bool) async {
      let clock = isAnyOwner ? await Task.detached { TestClock() }.value : nil
      let executor = Executor()
      #expect(await Task(executorPreference: executor) { await Self.createsMember() }.value)
      withExtendedLifetime(clock) {}
    }

    @Test(arguments: [false, true]) func aTaskThatRunsWithinEnqueue(isAnyOwner: Bool) async {
      let clock = isAnyOwner ? await Task.detached { TestClock() }.value : nil
      let (outer, inner) = (ImmediateExecutor(), ImmediateExecutor())
      let areMembers = await Task(executorPreference: outer) {
        let isMember = await Self.createsMember()
        let isInnerMember = await Task(executorPreference: inner) { await Self.createsMember() }
          .value
        return [isMember, isInnerMember]
      }.value
      #expect(areMembers == [true, true])
      withExtendedLifetime(clock) {}
    }

    /// The actor works all the time, so that its thread begins the new task immediately.
    @Test(arguments: [false, true]) func anActorsTask(isAnyOwner: Bool) async {
      let clock = isAnyOwner ? await Task.detached { TestClock() }.value : nil
      let isOver = Tally()
      let working = Task { @Elsewhere in while isOver.value == 0 { await Task.yield() } }
      var missed = 0
      for _ in 0..<5_000 {
        let isMember = await Task { @Elsewhere in await Self.createsMember() }.value
        if !isMember { missed += 1 }
      }
      #expect(missed == 0)
      isOver.add()
      await working.value
      withExtendedLifetime(clock) {}
    }
  }
#endif
