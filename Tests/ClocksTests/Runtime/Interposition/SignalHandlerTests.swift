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
      #expect(child.standardOutput.contains("Test run with 3 tests"), "\(child)")
    }

    @Test func aLockIsUnavailableOnlyToItsHolder() {
      let lock = Lock(.leaf)
      #expect(lock.withLockIfAvailable { 1 } == 1)
      #expect(lock.withLock { lock.withLockIfAvailable { 1 } } == nil)
      #expect(lock.withLockIfAvailable { lock.withLockIfAvailable { 1 } } == .some(nil))
      #expect(lock.withLock { 1 } == 1)
    }

    @Test func aThreadWaitsForAnotherOneThatHoldsTheLock() {
      let lock = Lock(.leaf)
      let (isHeld, isLeft) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      func hold(for seconds: Double) {
        Thread.detachNewThread {
          lock.withLock {
            isHeld.signal()
            usleep(UInt32(seconds * 1e6))
          }
          isLeft.signal()
        }
        isHeld.wait()
      }
      hold(for: 0.001)
      #expect(lock.withLockIfAvailable { 1 } == 1)
      isLeft.wait()
      hold(for: 1)
      #expect(lock.withLockIfAvailable { 1 } == nil)
      isLeft.wait()
    }
  }

  /// The signal, and what its handler has seen.
  private enum Handler {
    nonisolated(unsafe) static var latest = ContinuousClock.now
    static let count = Atomic(0)
    static let allocations = Atomic(0)
    /// The thread that runs the handler; 0 if there is none.
    static let thread = Atomic<UInt>(0)

    static func install() {
      _ = latest
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in
        Handler.thread.store(UInt(pthread_self()), ordering: .relaxed)
        Handler.latest = ContinuousClock.now
        Handler.thread.store(0, ordering: .relaxed)
        Handler.count.add(1, ordering: .relaxed)
      }
      action.sa_flags = SA_RESTART
      sigaction(SIGUSR1, &action, nil)
    }

    /// What the handler reads on this thread.
    static var reading: ContinuousClock.Instant {
      raise(SIGUSR1)
      return latest
    }

    typealias Allocate =
      @convention(c) (UnsafeRawPointer?, Int, Int) -> UnsafeMutableRawPointer?
    nonisolated(unsafe) static var allocate: UnsafeMutablePointer<Allocate>?
    nonisolated(unsafe) static var originalAllocate: Allocate?

    /// Counts the objects that the handler allocates.
    static func countAllocations() throws {
      let isReplaced = try #require(
        dlsym(nil, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly"))
      allocate = try #require(dlsym(nil, "_swift_allocObject"))
        .assumingMemoryBound(to: Allocate.self)
      originalAllocate = allocate?.pointee
      allocate?.pointee = { type, size, alignment in
        if Handler.thread.load(ordering: .relaxed) == UInt(pthread_self()) {
          Handler.allocations.add(1, ordering: .relaxed)
        }
        return Handler.originalAllocate!(type, size, alignment)
      }
      isReplaced.storeBytes(of: true, as: Bool.self)
    }
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
        #expect(CreationsOnActors.during { Handler.reading } == start)
        context.pointee.taskID = task
      }
    }

    @Test func theThreadAllocatesMemory() async throws {
      Handler.install()
      try await withVirtualTime { _ in
        _ = Handler.reading
        try Handler.countAllocations()
        _ = Handler.reading
        #expect(Handler.allocations.load(ordering: .relaxed) == 0)
        Handler.thread.store(UInt(pthread_self()), ordering: .relaxed)
        _ = Increments()
        Handler.thread.store(0, ordering: .relaxed)
        #expect(Handler.allocations.load(ordering: .relaxed) > 0, "Allocations are counted.")
      }
    }

    /// Each signal is sent when the handler has returned from the previous one.
    @Test func signalsComeWhileTasksRun() async throws {
      Handler.install()
      let start = Handler.count.load(ordering: .relaxed)
      @Sendable func signals() -> Int { Handler.count.load(ordering: .relaxed) - start }
      try await withVirtualTime { _ in
        Thread.detachNewThread {
          while signals() < 5_000 {
            let before = signals()
            kill(getpid(), SIGUSR1)
            for _ in 0..<1_000 where signals() == before { usleep(20) }
          }
        }
        let counter = Increments()
        while signals() < 5_000 {
          await withDiscardingTaskGroup { group in
            for index in 0..<20 {
              group.addTask {
                try? await Task.sleep(for: .milliseconds(index))
                await counter.increment()
                Task { @MainActor in await Task.yield() }
              }
            }
          }
        }
        #expect(await counter.count.isMultiple(of: 20))
      }
    }
  }
#endif
