#if os(Linux) && canImport(Glibc)
  import Dispatch
  import Foundation
  import Synchronization
  import Testing

  @testable import Clocks

  @Suite struct AwaitedObjectsTests {
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
      let result = AwaitedObjects.wait(for: address, on: thread) {
        if $0 != 0 { entering() }
        return semaphore.wait(timeout: $0 == 0 ? .now() : .distantFuture) == .success ? 0 : 1
      }
      #expect(result == 0)
      return thread.block
    }

    @Test func timeStandsStillFromTheSignalUntilTheThreadGoesOn() {
      let block = wait(owner.workBegan(on: .thread)) {
        #expect(owner.open == [])
        AwaitedObjects.willSignal(address)
        #expect(owner.open == [2])
        semaphore.signal()
      }
      #expect(owner.open == [3] && block == 3)
    }

    /// Otherwise time could jump when the block that signals ends, before the thread goes on.
    @Test func aThreadThatBeginsToWaitFindsTheSignal() {
      let (begun, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let hasBlocked = Atomic(false)
      let block = owner.workBegan(on: .thread)
      _ = AwaitedObjects.signal(address) {
        Thread.detachNewThread {
          begun.signal()
          _ = wait(block) { hasBlocked.store(true, ordering: .relaxed) }
          over.signal()
        }
        begun.wait()
        // Without the lock, the thread would block by now.
        usleep(20_000)
        return semaphore.signal()
      }
      over.wait()
      let blocked = hasBlocked.load(ordering: .relaxed)
      #expect(!blocked)
    }

    @Test func anEarlierSignalDoesNotCount() {
      AwaitedObjects.willSignal(address)
      semaphore.signal()
      #expect(wait(owner.workBegan(on: .thread)) == 1)
      #expect(owner.open == [1])
    }

    @Test func aSignalThatNoKnownThreadTakes() {
      let block = wait(owner.workBegan(on: .thread)) {
        for _ in 0..<2 {
          AwaitedObjects.willSignal(address)
          semaphore.signal()
        }
        #expect(owner.open == [2])
      }
      #expect(owner.open == [block])
      AwaitedObjects.willSignal(address)
      #expect(owner.open == [block])
      #expect(semaphore.wait(timeout: .now()) == .success)
    }

    @Test func timeStandsStillFromTheSignalUntilTheMethodGoesOn() {
      owner.jobBegins()
      let method = ThreadWaits(owner, .method)
      let result = AwaitedObjects.wait(for: address, of: owner) {
        method.paused(until: .max) {
          guard $0 != 0 else { return 1 }
          #expect(owner.runningJobs == 0 && owner.open == [])
          AwaitedObjects.willSignal(address)
          #expect(owner.runningJobs == 0 && owner.open == [1])
          return 0
        }
      }
      #expect(result == 0 && owner.runningJobs == 1 && owner.open == [])
    }

    @Test func aSignalThatABlockTakesDoesNotCount() {
      let block = wait(owner.workBegan(on: .thread)) {
        AwaitedObjects.willSignal(address)
        #expect(owner.open == [2])
        AwaitedObjects.signalWasTaken(address)
        #expect(owner.open == [])
        for _ in 0..<2 { AwaitedObjects.willSignal(address) }
        #expect(owner.open == [3])
        AwaitedObjects.signalWasTaken(address)
        #expect(owner.open == [3])
        semaphore.signal()
      }
      #expect(owner.open == [block])
    }

    /// It is not known which test's thread takes the signal.
    @Test func aSignalCountsInEachTestThatWaits() {
      let other = CountingOwner(isVirtual: true)
      _ = wait(owner.workBegan(on: .thread)) {
        _ = wait(other.workBegan(on: .thread), of: other) {
          #expect(owner.open == [] && other.open == [])
          AwaitedObjects.willSignal(address)
          #expect(owner.open == [2] && other.open == [2])
          semaphore.signal()
        }
        // The other test's thread has taken the signal.
        #expect(owner.open == [] && other.open == [3])
        AwaitedObjects.willSignal(address)
        #expect(owner.open == [3] && other.open == [3])
        semaphore.signal()
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
        AwaitedObjects.willSignal(address)
        #expect(!owner.open.isEmpty)
        semaphore.signal()
      }
      #expect(await Self.isSignalled(done, times: blocks.count))
      #expect(owner.open == [])
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
