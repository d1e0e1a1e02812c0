#if os(Linux) && canImport(Glibc)
  import ClocksSupport
  import Foundation
  import Synchronization
  import TestTraits
  import Testing

  @testable import Clocks

  /// Readings of a clock in signal handlers, in a child process, because a deadlock ends no test.
  @Suite struct SignalHandlerTests {
    @Test func aHandlerReadsTheClockWhateverItInterrupts() async throws {
      let child = try await ChildProcess.run(
        ChildProcess.testBundle,
        arguments: ["--testing-library", "swift-testing", "--filter", "SignalHandlerSamples"],
        environment: [ChildVariable.handlers: "1"], errors: .inOutput, limit: 120)
      #expect(child.exitCode == 0, "\(child)")
      #expect(child.standardOutput.contains("Test run with 2 tests"), "\(child)")
    }

    @Test func aLockIsUnavailableOnlyToItsHolder() {
      let lock = Lock(.leaf)
      #expect(lock.withLockIfAvailable { 1 } == 1)
      #expect(lock.withLock { lock.withLockIfAvailable { 1 } } == nil)
      #expect(lock.withLockIfAvailable { lock.withLockIfAvailable { 1 } } == .some(nil))
      // The thread does not wait for itself.
      #expect(lock.withLock { lock.lock(within: .seconds(1_000_000)) } == false)
      #expect(lock.withLock { 1 } == 1)
    }

    /// On a thread of its own, because a thread that has given up does not wait again soon.
    @Test(.timeLimit(.minutes(1))) func aThreadWaitsForAnotherOneThatHoldsTheLock() async {
      let lock = Lock(.leaf)
      let (isHeld, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      @Sendable func hold(until wait: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
          lock.withLock {
            isHeld.signal()
            wait()
          }
        }
        isHeld.wait()
      }
      let results = await withCheckedContinuation { (ended: CheckedContinuation<[Bool], Never>) in
        Thread.detachNewThread {
          var results: [Bool] = []
          hold { usleep(1_000) }
          results.append(lock.withLockIfAvailable { 1 } == 1)
          // A thread that can run is awaited for longer than the limit.
          hold {
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(300) {}
          }
          results.append(lock.lock(within: .milliseconds(1)))
          if results[1] { lock.unlock() }
          hold { mayLeave.wait() }
          results.append(lock.lock(within: .milliseconds(10)))
          // A thread that has given up does not wait again soon.
          results.append(lock.lock(within: .seconds(1_000_000)))
          mayLeave.signal()
          ended.resume(returning: results)
        }
      }
      #expect(results == [true, true, false, false])
    }
  }

  /// The signal, and what its handler has seen.
  private enum Handler {
    nonisolated(unsafe) static var latest = ContinuousClock.now
    static let count = Atomic(0)
    static let target = Atomic<CInt>(0)

    static func install() {
      _ = latest
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in
        Handler.latest = ContinuousClock.now
        Handler.count.add(1, ordering: .relaxed)
      }
      action.sa_flags = SA_RESTART
      sigaction(SIGUSR1, &action, nil)
      // In a debug build, the first reading allocates memory.
      _ = reading
    }

    /// What the handler reads on this thread; `nil` if the handler has not run.
    static var reading: ContinuousClock.Instant? {
      let before = count.load(ordering: .relaxed)
      allowSignals()
      raise(SIGUSR1)
      return count.load(ordering: .relaxed) == before + 1 ? latest : nil
    }

    /// Dispatch blocks signals on its threads.
    static func allowSignals() {
      var signals = sigset_t()
      sigaddset(&signals, SIGUSR1)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    typealias Kill = @convention(c) (pid_t, pid_t, CInt) -> CInt
    /// Sends a signal to a thread, which may have ended. Glibc's module does not declare it.
    static let kill = dlsym(nil, "tgkill").map { unsafeBitCast($0, to: Kill.self) }
  }

  private actor Increments {
    private(set) var count = 0
    func increment() { count += 1 }
  }

  @Suite(.serialized, .onlyInChild(ChildVariable.handlers)) struct SignalHandlerSamples {
    /// In a debug build, the order of locks is checked, too.
    @Test func theThreadHoldsALock() async throws {
      Handler.install()
      try await withVirtualTime { _ in
        try await Task.sleep(for: .seconds(3600))
        let scheduler = try #require(Scheduler.running)
        let context = try #require(ThreadContext.current)
        let start = ContinuousClock.now
        #expect(Handler.reading == start)
        #expect(scheduler.changeWithoutThread { _ in Handler.reading } == start)
        // As in an actor drain: the owner of the current task is looked up.
        let task = context.pointee.taskID
        context.pointee.taskID = 0
        #expect(Handler.reading == start)
        #expect(TaskOwnership.shared.lock.withLock { Handler.reading } == start)
        #expect(scheduler.changeWithoutThread { _ in Handler.reading } == start)
        #expect(UnfinishedCreations.during { Handler.reading } == start)
        context.pointee.taskID = task
      }
    }

    /// Each signal is sent when the handler has returned from the previous one, to a thread that runs the test's jobs.
    @Test func signalsComeWhileTasksRun() async throws {
      Handler.install()
      let kill = try #require(Handler.kill)
      let start = Handler.count.load(ordering: .relaxed)
      let isOver = Tally()
      @Sendable func signals() -> Int { Handler.count.load(ordering: .relaxed) - start }
      try await withVirtualTime { _ in
        Thread.detachNewThread {
          while signals() < 5_000, isOver.value == 0 {
            let before = signals()
            _ = kill(getpid(), Handler.target.load(ordering: .relaxed), SIGUSR1)
            for _ in 0..<1_000 where signals() == before { usleep(20) }
          }
        }
        let counter = Increments()
        var rounds = 0
        // On a busy machine, each signal takes milliseconds.
        while signals() < 5_000, rounds < 200 {
          rounds += 1
          await withDiscardingTaskGroup { group in
            for index in 0..<20 {
              group.addTask {
                Handler.allowSignals()
                Handler.target.store(OutsideWork.currentThread, ordering: .relaxed)
                try? await Task.sleep(for: .milliseconds(index))
                await counter.increment()
                Task { @MainActor in await Task.yield() }
              }
            }
          }
        }
        isOver.add()
        #expect(signals() > 0)
        #expect(await counter.count == 20 * rounds)
      }
    }
  }
#endif
