#if os(Linux) && canImport(Glibc)
  import Dispatch
  import Foundation
  import Testing

  @testable import Clocks

  @Suite struct AwaitedSemaphoresTests {
    private let owner = CountingOwner(isVirtual: true)
    private let semaphore = DispatchSemaphore(value: 0)

    private var address: OpaquePointer {
      OpaquePointer(Unmanaged.passUnretained(semaphore).toOpaque())
    }

    /// Waits as a thread of a test does. `block` is its number; `entering` is called before the thread blocks.
    private func wait(
      _ block: UInt64, of owner: CountingOwner? = nil, entering: () -> Void = {}
    ) -> UInt64 {
      let thread = ThreadWaits(owner ?? self.owner, .testThread)
      thread.block = block
      let result = AwaitedSemaphores.wait(for: address, on: thread) {
        if $0 != 0 { entering() }
        return semaphore.wait(timeout: $0 == 0 ? .now() : .distantFuture) == .success ? 0 : 1
      }
      #expect(result == 0)
      return thread.block
    }

    /// Signals the semaphore. `check` is called before.
    private func signal(_ check: () -> Void = {}) {
      _ = AwaitedSemaphores.signal(address) {
        check()
        return semaphore.signal()
      }
    }

    @Test func timeStandsStillFromTheSignalUntilTheThreadGoesOn() {
      let block = wait(owner.workBegan(on: .thread)) {
        #expect(owner.open == [])
        signal { #expect(owner.open == [2]) }
      }
      #expect(owner.open == [3] && block == 3)
    }

    @Test func anEarlierSignalDoesNotCount() {
      signal()
      #expect(wait(owner.workBegan(on: .thread)) == 1)
      #expect(owner.open == [1])
    }

    @Test func aSignalThatNoKnownThreadTakes() {
      let block = wait(owner.workBegan(on: .thread)) {
        for _ in 0..<2 { signal() }
        #expect(owner.open == [2])
      }
      #expect(owner.open == [block])
      signal()
      #expect(owner.open == [block])
      #expect(semaphore.wait(timeout: .now()) == .success)
    }

    /// It is not known which test's thread takes the signal.
    @Test func aSignalCountsInEachTestThatWaits() {
      let other = CountingOwner(isVirtual: true)
      _ = wait(owner.workBegan(on: .thread)) {
        _ = wait(other.workBegan(on: .thread), of: other) {
          #expect(owner.open == [] && other.open == [])
          signal { #expect(owner.open == [2] && other.open == [2]) }
        }
        // The other test's thread has taken the signal.
        #expect(owner.open == [] && other.open == [3])
        signal { #expect(owner.open == [3] && other.open == [3]) }
      }
      #expect(owner.open == [4] && other.open == [3])
    }

    @Test func eachSignalCountsUntilAThreadGoesOn() async {
      let blocks = (1...4).map { _ in owner.workBegan(on: .thread) }
      let waiting = DispatchSemaphore(value: 0)
      let done = DispatchSemaphore(value: 0)
      for block in blocks {
        Thread.detachNewThread {
          owner.workEnded(wait(block) { waiting.signal() })
          done.signal()
        }
      }
      #expect(await Self.isSignalled(waiting, times: blocks.count))
      #expect(owner.open == [])
      for _ in blocks {
        signal { #expect(!owner.open.isEmpty) }
      }
      #expect(await Self.isSignalled(done, times: blocks.count))
      #expect(owner.open == [])
    }

    /// Thread B finds the method's wait while it signals. In that moment the method begins to wait.
    ///
    /// In a process of its own, because only one test method of a process waits.
    @Test func aMethodDoesNotPauseWhileItsSemaphoreIsSignalled() async {
      await #expect(processExitsWith: .success) {
        ThreadWaits.areSeen = true
        let tests = AwaitedSemaphoresTests()
        let (isSignalling, hasPaused) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        tests.owner.jobBegins()
        let waits = ThreadWaits(tests.owner, .method)
        waits.begin()
        defer { waits.end() }
        waits.semaphore.store(UInt(bitPattern: tests.address), ordering: .sequentiallyConsistent)
        Thread.detachNewThread {
          tests.signal {
            isSignalling.signal()
            #expect(hasPaused.wait(timeout: .now() + 0.1) == .timedOut)
          }
        }
        isSignalling.wait()
        let result = waits.paused(on: tests.address, until: .max) {
          if $0 != 0 { hasPaused.signal() }
          return tests.semaphore.wait(timeout: $0 == 0 ? .now() : .distantFuture) == .success
            ? 0 : 1
        }
        #expect(result == 0 && tests.owner.runningJobs == 1)
      }
    }

    /// Waits, on a thread of its own, for as many signals. Returns whether each has come within 100 seconds.
    private static func isSignalled(_ semaphore: DispatchSemaphore, times: Int) async -> Bool {
      await withCheckedContinuation { continuation in
        onAThread {
          let results = (0..<times).map { _ in semaphore.wait(timeout: .now() + 100) }
          continuation.resume(returning: results.allSatisfy { $0 == .success })
        }
      }
    }
  }
#endif
