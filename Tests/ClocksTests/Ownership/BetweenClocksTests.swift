import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

#if os(Linux) && canImport(Glibc)
  @globalActor private actor Elsewhere { static let shared = Elsewhere() }

  /// Keeps the thread that enqueues a job, once.
  private final class SlowExecutor: TaskExecutor {
    let isSlow = Atomic(false)
    let isEntered = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
      if isSlow.exchange(false, ordering: .relaxed) {
        isEntered.signal()
        usleep(50_000)
      }
      let job = UnownedJob(job)
      DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// A clock that one thread frees.
  private final class LatestClock: @unchecked Sendable { var clock: TestClock? = TestClock() }

  /// What a test starts while it has no clock: the next clock's owner adopts all of it.
  @Suite struct BetweenClocksTests {
    enum Work: CaseIterable, Sendable {
      case plain, onAnActor, onMain, onAnExecutor, asyncLet, group
    }

    private static let executor = LoopExecutor(isSerial: false)

    private static func start(_ work: Work, _ done: Tally) -> Task<Void, Never> {
      @Sendable func yield() async { for _ in 0..<20 { await Task.yield() } }
      switch work {
      case .plain:
        return Task {
          await yield()
          done.add()
        }
      case .onAnActor:
        return Task { @Elsewhere in
          usleep(200)
          await yield()
          done.add()
        }
      case .onMain:
        return Task { @MainActor in
          await yield()
          done.add()
        }
      case .onAnExecutor:
        return Task(executorPreference: executor) {
          usleep(200)
          await yield()
          done.add()
        }
      case .asyncLet:
        return Task {
          async let one: Void = yield()
          async let other: Void = yield()
          _ = await (one, other)
          done.add()
        }
      case .group:
        return Task {
          await withTaskGroup { group in for _ in 0..<3 { group.addTask { await yield() } } }
          done.add()
        }
      }
    }

    /// Continues in a job that no scheduler runs.
    private func continueOnAQueue(after microseconds: UInt32 = 0) async {
      await withUnsafeContinuation { continuation in
        DispatchQueue.global().async {
          usleep(microseconds)
          continuation.resume()
        }
      }
    }

    private func settleOnANewClock() async {
      let clock = TestClock()
      await clock.settle()
      withExtendedLifetime(clock) {}
    }

    /// The job of the former scheduler continues without a clock.
    @Test(arguments: Work.allCases) func theTestStartsATask(_ work: Work) async {
      for _ in 0..<20 {
        await settleOnANewClock()
        let done = Tally()
        let task = Self.start(work, done)
        await settleOnANewClock()
        #expect(done.value == 1)
        await task.value
      }
    }

    /// The job of a former task waits in the former scheduler, and begins when the test may have another one.
    @Test(arguments: Work.allCases) func aFormerTaskStartsATask(_ work: Work) async {
      for round in 0..<20 {
        let done = Tally()
        func begin() async -> Task<Task<Void, Never>, Never> {
          let clock = TestClock()
          await clock.settle()
          return withExtendedLifetime(clock) {
            Task {
              usleep(300)
              defer { usleep(100) }
              return Self.start(work, done)
            }
          }
        }
        let former = await begin()
        await continueOnAQueue(after: UInt32(round % 7) * 60)
        await settleOnANewClock()
        #expect(done.value == 1)
        await former.value.value
      }
    }

    /// Thread A creates a child. Before A enqueues it, thread B makes the clock, whose owner adopts the child's parent.
    @Test(arguments: 0..<6) func childrenAreCreatedWhileTheClockIsMade(_: Int) async {
      for round in 0..<100 {
        let done = Tally()
        func begin() async -> Task<Void, Never> {
          let clock = await Task { TestClock() }.value
          await clock.settle()
          return withExtendedLifetime(clock) {
            Task {
              await withTaskGroup { group in
                for _ in 0..<5 {
                  group.addTask {
                    for _ in 0..<10 { await Task.yield() }
                    done.add()
                  }
                }
              }
            }
          }
        }
        let task = await begin()
        await continueOnAQueue()
        await settleOnANewClock()
        #expect(done.value == 5, "in round \(round)")
        await task.value
      }
    }

    /// Another task makes the test's clocks, so the test is not known by the maker.
    @Test(arguments: Work.allCases) func aHelperMakesTheClocks(_ work: Work) async {
      for _ in 0..<20 {
        let done = Tally()
        func begin() async -> Task<Void, Never> {
          let clock = await Task { TestClock() }.value
          await clock.settle()
          return withExtendedLifetime(clock) { Self.start(work, done) }
        }
        let task = await begin()
        await continueOnAQueue()
        await settleOnANewClock()
        #expect(done.value == 1)
        await task.value
      }
    }

    /// A job of the former scheduler ends its task and resumes the tasks that wait for it, while another thread frees
    /// the last clock.
    @Test(arguments: 0..<5, [false, true])
    func anotherThreadFreesTheLastClock(_: Int, isOtherResumedFirst: Bool) async {
      let (waiting, othersWaiting, done) = (Tally(), Tally(), Tally())
      let executor = SlowExecutor()
      let tasks: [Task<Void, Never>] = await withUnsafeContinuation { continuation in
        let latest = LatestClock()
        let awaited = Task {
          while waiting.value < 9 || othersWaiting.value == 0 { await Task.yield() }
          for _ in 0..<20 { await Task.yield() }
          executor.isSlow.store(true, ordering: .relaxed)
        }
        // The runtime resumes the task first that waits last.
        Thread.detachNewThread {
          while isOtherResumedFirst, waiting.value < 9 { usleep(100) }
          Task(executorPreference: executor) {
            othersWaiting.add()
            await awaited.value
          }
        }
        let tasks = (0..<9).map { _ in
          Task {
            while !isOtherResumedFirst, othersWaiting.value == 0 {
              await Task.yield()
            }
            waiting.add()
            await awaited.value
            done.add()
          }
        }
        Thread.detachNewThread {
          executor.isEntered.wait()
          latest.clock = nil
          continuation.resume(returning: tasks)
        }
      }
      await settleOnANewClock()
      #expect(done.value == 9)
      for task in tasks { await task.value }
    }

    /// The test has no clock yet. An `async let` is not a member of its test case.
    @Test(arguments: 0..<20) func anEarlyTaskHasAsyncLets(_: Int) async {
      let done = Tally()
      let task = Self.start(.asyncLet, done)
      await Task.yield()
      await settleOnANewClock()
      #expect(done.value == 1)
      await task.value
    }

    /// An immediate task ends in its creator's job, and has no job of its own.
    @Test func nothingKeepsAnImmediateTaskThatIsOver() async {
      final class Result: Sendable {}
      weak var result: Result?
      do {
        let task = Task.immediate { Result() }
        result = await task.value
        #expect(result != nil)
      }
      #expect(result == nil)
    }
  }
#endif
