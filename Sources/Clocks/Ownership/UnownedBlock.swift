import ClocksSupport
import Synchronization

/// A block on a dispatch queue that a test case submitted without an owner, or for an owner whose clocks are gone.
///
/// A call of a source's handler is one, too, if a test case made the source without an owner. The next owner of the
/// test case counts the block, or the call, until it has run.
final class UnownedBlock: @unchecked Sendable {
  enum Queue {
    case known(BlockQueue)
    #if os(Linux) && canImport(Glibc)
      /// A dispatch queue, which must be in memory until the block ends. Its properties are read on demand.
      case dispatch(OpaquePointer)
    #endif

    var blockQueue: BlockQueue {
      switch self {
      case .known(let queue): return queue
      #if os(Linux) && canImport(Glibc)
        case .dispatch(let queue): return BlockQueue(queue)
      #endif
      }
    }
  }

  let testCase: UInt64
  private let queue: Queue
  private let isBarrier: Bool
  /// The owner that counts the block anyway; `nil` if there is none.
  private let former: ObjectIdentifier?
  /// The number that `next` gave to the block. Written once, under the lock, before `next`.
  ///
  /// Atomic, because ThreadSanitizer does not see that a thread that reads `next` also sees what was written before it.
  private let number = Atomic<UInt64>(0)
  /// The owner that adopted the test case. Written once, under the lock.
  private let next = AtomicLazyReference<TaskOwner>()
  private let hasBegun = Atomic(false)
  /// See `TaskOwner.workRuns`. Written once, before `hasBegun`.
  private let mark = Atomic<UInt>(0)

  // Guarded by the lock.

  private var hasEnded = false
  private var isWaiting = false
  /// The neighbours in the list of waiting blocks.
  private var older: UnownedBlock?
  unowned(unsafe) private var newer: UnownedBlock?

  /// Guards the list of waiting blocks. Rank `unownedBlocks`: schedulers' locks and that of `TaskOwnership` are taken
  /// under it.
  private static let lock = Lock(.unownedBlocks)
  /// The newest of the blocks that have not ended and that no owner has adopted.
  nonisolated(unsafe) private static var newestWaiting: UnownedBlock?

  init(on queue: Queue, isBarrier: Bool, of testCase: UInt64, former: TaskOwner? = nil) {
    (self.queue, self.isBarrier, self.testCase) = (queue, isBarrier, testCase)
    self.former = former.map(ObjectIdentifier.init)
  }

  /// The owner that adopted the test case after the block was submitted. A signal handler may call this.
  var owner: TaskOwner? { next.load() }

  /// Lets the owner of the test case count the block, or the next owner if there is none. O(1).
  func submit() {
    Self.lock.withLock {
      if hasEnded || owner != nil { return }
      if let owner = TaskOwnership.shared.knownOwner(of: testCase) {
        count(for: owner)
      } else if !isWaiting {
        wait()
      }
    }
  }

  /// Adds the block to the list.
  private func wait() {
    isWaiting = true
    older = Self.newestWaiting
    older?.newer = self
    Self.newestWaiting = self
  }

  /// Removes the block from the list if it is there.
  private func stopWaiting() {
    guard isWaiting else { return }
    isWaiting = false
    if let newer { newer.older = older } else { Self.newestWaiting = older }
    older?.newer = newer
    (older, newer) = (nil, nil)
  }

  /// Lets an owner count the blocks of a test case that it just adopted.
  ///
  /// O(waiting blocks of all test cases)
  static func adoptAll(of testCase: UInt64, by owner: TaskOwner) {
    lock.withLock {
      var blocks: [UnownedBlock] = []
      var next = newestWaiting
      while let block = next {
        next = block.older
        if block.testCase == testCase { blocks.append(block) }
      }
      for block in blocks.reversed() {
        block.stopWaiting()
        block.count(for: owner)
      }
    }
  }

  private func count(for owner: TaskOwner) {
    if ObjectIdentifier(owner) == former { return }
    let number = owner.workBegan(on: queue.blockQueue, isBarrier: isBarrier)
    self.number.store(number, ordering: .relaxed)
    _ = next.storeIfNil(owner)
    // Thread A, the current one, stores the owner, and then reads `hasBegun`. Thread B, which begins the block, stores
    // `hasBegun`, and then reads the owner. So at least one of them notifies the owner.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if hasBegun.load(ordering: .acquiring) {
      owner.workRuns(number, on: 0, mark: mark.load(ordering: .relaxed))
    }
  }

  /// Notes that the block begins to run on the current thread.
  ///
  /// - Parameter mark: See `TaskOwner.workRuns`.
  func begin(mark: UInt) {
    self.mark.store(mark, ordering: .relaxed)
    hasBegun.store(true, ordering: .releasing)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if let owner { owner.workRuns(number.load(ordering: .relaxed), mark: mark) }
  }

  func end() {
    Self.lock.lock()
    hasEnded = true
    stopWaiting()
    Self.lock.unlock()
    owner?.workEnded(number.load(ordering: .relaxed))
  }
}
