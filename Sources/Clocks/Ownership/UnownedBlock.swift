import ClocksSupport
import Synchronization

/// A block on a dispatch queue that a test case has submitted without an owner, or for an owner whose clocks are gone.
///
/// The next owner of the test case counts the block until it has run.
final class UnownedBlock: Sendable {
  let testCase: UInt64
  private let queue: BlockQueue
  private let isBarrier: Bool
  /// The owner that counts the block anyway; `nil` if there is none.
  private let former: ObjectIdentifier?
  /// The place of the block among all blocks, in the order of submission.
  private let place: UInt64
  /// The number that `next` has given to the block. Written once, under the lock, before `next`.
  @exclusivity(unchecked) nonisolated(unsafe) private var number: UInt64 = 0
  /// The owner that has adopted the test case. Written once, under the lock.
  private let next = AtomicLazyReference<TaskOwner>()
  private let hasBegun = Atomic(false)
  /// See `TaskOwner.workRuns`. Written once, before `hasBegun`.
  private let mark = Atomic<UInt>(0)
  /// Guarded by the lock.
  @exclusivity(unchecked) nonisolated(unsafe) private var hasEnded = false

  /// Guards `waiting`. Rank `unownedBlocks`: schedulers' locks and that of `TaskOwnership` are taken under it.
  private static let lock = Lock(.unownedBlocks)
  /// The blocks that have not ended and that no owner has adopted, by test case and place.
  @exclusivity(unchecked) nonisolated(unsafe) private static var waiting:
    [UInt64: [UInt64: UnownedBlock]] = [:]
  private static let newest = Atomic<UInt64>(0)

  init(on queue: BlockQueue, isBarrier: Bool, of testCase: UInt64, former: TaskOwner? = nil) {
    (self.queue, self.isBarrier, self.testCase) = (queue, isBarrier, testCase)
    self.former = former.map(ObjectIdentifier.init)
    place = Self.newest.add(1, ordering: .relaxed).newValue
  }

  /// The owner that has adopted the test case since the block was submitted. A signal handler may call this.
  var owner: TaskOwner? { next.load() }

  /// Lets the owner of the test case count the block, or the next owner if there is none. O(1).
  func submit() {
    Self.lock.withLock {
      if hasEnded || owner != nil { return }
      if let owner = TaskOwnership.shared.knownOwner(of: testCase) {
        count(for: owner)
      } else {
        Self.waiting[testCase, default: [:]][place] = self
      }
    }
  }

  /// Lets an owner count the blocks of a test case, which it has just adopted. O(n log n).
  static func adoptAll(of testCase: UInt64, by owner: TaskOwner) {
    lock.withLock {
      let blocks = waiting.removeValue(forKey: testCase) ?? [:]
      for (_, block) in blocks.sorted(by: { $0.key < $1.key }) { block.count(for: owner) }
    }
  }

  private func count(for owner: TaskOwner) {
    if ObjectIdentifier(owner) == former { return }
    number = owner.workBegan(on: queue, isBarrier: isBarrier)
    _ = next.storeIfNil(owner)
    // Thread A, the current one, has stored the owner. Thread B, which begins the block, stores `hasBegun`, and then
    // looks for the owner. So at least one of them tells the owner.
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
    if let owner { owner.workRuns(number, mark: mark) }
  }

  func end() {
    Self.lock.withLock {
      hasEnded = true
      Self.waiting[testCase]?[place] = nil
      if Self.waiting[testCase]?.isEmpty == true { Self.waiting[testCase] = nil }
    }
    owner?.workEnded(number)
  }
}
