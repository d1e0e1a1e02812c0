import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  /// A block that a test has submitted to a dispatch queue, and that runs on behalf of the test.
  ///
  /// The block *counts* as soon as only its queue decides when it runs: until it has run, the test is not idle.
  final class DispatchedBlock: @unchecked Sendable {
    let owner: TaskOwner
    private let queue: OpaquePointer
    private let blockQueue: BlockQueue
    private var block: HandedBlock?
    private let isBarrier: Bool
    private let group: OpaquePointer?
    /// The owner's number for the block; 0 until the block counts.
    fileprivate var number: UInt64 = 0
    /// Whether the block waits for a group or a work item. If so, the lock of `Notifications` guards `number`.
    private let isNotification: Bool

    /// Retains the block, the queue and the group. The caller must have entered the group for the block.
    init(
      _ block: UnsafeRawPointer, on queue: OpaquePointer, of owner: TaskOwner,
      isBarrier: Bool = false, group: OpaquePointer? = nil, isNotification: Bool = false
    ) {
      self.owner = owner
      self.queue = queue
      blockQueue = BlockQueue(queue)
      let block = HandedBlock(retaining: block)
      self.block = block
      self.isBarrier = isBarrier || block.isBarrier
      self.group = group
      self.isNotification = isNotification
      DispatchObject.retain(queue)
      group.map(DispatchObject.retain)
    }

    deinit {
      block?.release()
      DispatchObject.release(queue)
      group.map(DispatchObject.release)
    }

    var queueName: String { blockQueue.label }

    private func count() {
      guard number == 0 else { return }
      number = owner.workBegan(on: blockQueue, isBarrier: isBarrier)
    }

    func submit() {
      count()
      let pointer = Unmanaged.passRetained(self).toOpaque()
      if isBarrier {
        dispatch_barrier_async_f(queue, pointer) { DispatchedBlock.run($0) }
      } else {
        dispatch_async_f(queue, pointer) { DispatchedBlock.run($0) }
      }
    }

    /// Submits the block to its queue after real time has passed. The block counts when it begins.
    func submit(after nanoseconds: Int64) {
      let pointer = Unmanaged.passRetained(self).toOpaque()
      dispatch_after_f(dispatch_time(0, nanoseconds), queue, pointer) { DispatchedBlock.run($0) }
    }

    /// - Parameter pointer: A retained `DispatchedBlock`.
    static func run(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<DispatchedBlock>.fromOpaque(pointer).takeRetainedValue().run()
    }

    /// Requires the lock of `Notifications`.
    fileprivate func countNotification() {
      if number == 0 { number = owner.workBegan(on: blockQueue) }
    }

    fileprivate func run() {
      if isNotification { Notifications.begin(self) } else { count() }
      owner.workRuns(number)
      let waits = ThreadWaits.ofBlock(number, on: blockQueue, isBarrier: isBarrier, of: owner)
      let purpose: ThreadContext.Purpose =
        block?.library == .networking ? .networking : .nothing
      DispatchedBlock.runBlock(of: owner, waits, for: purpose) {
        block?()
        if let block, block.isItem { Notifications.itemHasRun(block.pointer) }
        // What the block retains is released on behalf of the test, too.
        block?.release()
        block = nil
      }
      if let group { Notifications.leave(group) }
      owner.workEnded(waits?.block ?? number)
    }

    /// Runs user code for which a thread of a test waits, on another thread.
    static func runCounted(
      on queue: BlockQueue, isBarrier: Bool = false, of owner: TaskOwner, _ body: () -> Void
    ) {
      let number = owner.workBegan(on: queue, isBarrier: isBarrier)
      run(number, on: queue, isBarrier: isBarrier, of: owner, body)
    }

    /// Runs user code that counts as a block.
    static func run(
      _ number: UInt64, on queue: BlockQueue, isBarrier: Bool = false, of owner: TaskOwner,
      _ body: () -> Void
    ) {
      owner.workRuns(number)
      let waits = ThreadWaits.ofBlock(number, on: queue, isBarrier: isBarrier, of: owner)
      runBlock(of: owner, waits, body)
      owner.workEnded(waits?.block ?? number)
    }

    /// Runs user code on behalf of an owner.
    static func runBlock(
      of owner: TaskOwner, _ waits: ThreadWaits? = nil,
      for purpose: ThreadContext.Purpose = .nothing,
      _ body: () -> Void
    ) {
      var context = ThreadContext(
        owner: owner, purpose: purpose, isInJob: true, isOnQueue: true, waits: waits)
      context.run { _ in body() }
      guard !context.ownersAwaitingEnd.isEmpty else { return }
      ExternalTaskRegistry.look()
      for owner in context.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
    }
  }

  /// A block that a test has passed to `DispatchQueue.sync`, which runs it on behalf of the test, even on another thread.
  struct SyncBlock {
    let block: HandedBlock
    let queue: BlockQueue
    let isBarrier: Bool
    let owner: TaskOwner

    func run() {
      guard let context = ThreadContext.current else { return runOnOtherThread() }
      guard ThreadWaits.areSleepsSeen, let owner = owner as? any PausableOwner,
        owner.pausedWaits == .all
      else { return block() }
      owner.noteStop(.sync, of: queue, 1)
      let outer = context.pointee.sync
      var sync = SyncQueue(queue: queue, stop: queue.stop(by: isBarrier), outer: outer)
      withUnsafePointer(to: &sync) {
        context.pointee.sync = $0
        block()
        context.pointee.sync = outer
      }
      owner.noteStop(.sync, of: queue, -1)
    }

    /// The block runs on the main thread.
    private func runOnOtherThread() {
      DispatchedBlock.runCounted(on: queue, isBarrier: isBarrier, of: owner) { block() }
    }
  }

  /// The blocks that begin when a group is empty, or when a work item has run.
  ///
  /// A block does not count until then, because the group or item may itself wait for time to move.
  enum Notifications {
    /// Guards the variables below, and the numbers of their blocks. Rank `dispatchNotifications`: owners' locks are
    /// taken under it, and no user code runs.
    private static let lock = Lock(.dispatchNotifications)
    /// The blocks that wait for each group that is not empty.
    @exclusivity(unchecked) nonisolated(unsafe) private static var ofGroups:
      [OpaquePointer: [DispatchedBlock]] = [:]
    /// For each work item that has not run yet, the blocks that begin when it has.
    @exclusivity(unchecked) nonisolated(unsafe) private static var ofItems:
      [UnsafeRawPointer: [DispatchedBlock]] = [:]

    /// Submits a block when a group is empty.
    static func add(_ work: DispatchedBlock, on queue: OpaquePointer, to group: OpaquePointer) {
      lock.withLock {
        ofGroups[group, default: []].append(work)
        dispatch_group_notify_f(group, queue, Unmanaged.passRetained(work).toOpaque()) {
          DispatchedBlock.run($0)
        }
        countIfEmpty(group)
      }
    }

    static func leave(_ group: OpaquePointer) {
      let wait = ThreadWaits.methodWait(for: group)
      lock.withLock {
        dispatch_group_leave(group)
        countIfEmpty(group)
      }
      LimitedWait.mayEnd(for: group)
      wait?.awaitEnd { dispatch_group_wait(group, 0) == 0 }
    }

    private static func countIfEmpty(_ group: OpaquePointer) {
      guard ofGroups[group] != nil, dispatch_group_wait(group, 0) == 0 else { return }
      for work in ofGroups.removeValue(forKey: group) ?? [] { work.countNotification() }
    }

    /// Submits a block when a work item has run.
    ///
    /// - Parameter notify: Calls `dispatch_block_notify`, which retains the block that it is given.
    static func add(
      _ work: DispatchedBlock, on queue: OpaquePointer, toItem item: UnsafeRawPointer,
      by notify: (UnsafeRawPointer) -> Void
    ) {
      lock.withLock {
        if HandedBlock(item).hasRun {
          work.countNotification()
        } else {
          ofItems[item, default: []].append(work)
        }
      }
      let block = HandedBlock { work.run() }
      notify(block.pointer)
      block.release()
    }

    /// Counts the blocks that begin now. Must be called before the item itself no longer counts.
    static func itemHasRun(_ item: UnsafeRawPointer) {
      lock.withLock {
        for work in ofItems.removeValue(forKey: item) ?? [] { work.countNotification() }
      }
      LimitedWait.mayEnd(for: OpaquePointer(item))
    }

    /// Counts a block that begins now, even if it was not seen that its group is empty, or that its item has run.
    static func begin(_ work: DispatchedBlock) {
      lock.withLock {
        for (group, waiting) in ofGroups { forget(work, waiting) { ofGroups[group] = $0 } }
        for (item, waiting) in ofItems { forget(work, waiting) { ofItems[item] = $0 } }
        work.countNotification()
      }
    }

    private static func forget(
      _ work: DispatchedBlock, _ waiting: [DispatchedBlock], _ store: ([DispatchedBlock]?) -> Void
    ) {
      let rest = waiting.filter { $0 !== work }
      if rest.count < waiting.count { store(rest.isEmpty ? nil : rest) }
    }
  }

  /// The functions that Dispatch has for all of its objects.
  enum DispatchObject {
    static let retain = function("dispatch_retain")
    static let release = function("dispatch_release")

    static let areFound = ["dispatch_retain", "dispatch_release"].allSatisfy {
      RuntimeSymbol.address(of: $0) != nil
    }

    static func label(of queue: OpaquePointer) -> String {
      String(cString: dispatch_queue_get_label(queue))
    }

    private static func function(_ name: String) -> DispatchCalls.OfObject {
      RuntimeSymbol.function(name, as: DispatchCalls.OfObject.self)!
    }
  }
#endif
