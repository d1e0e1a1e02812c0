#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch

  /// Work that a test has handed to a queue of Dispatch's.
  ///
  /// It *counts* from when nothing but the queue decides when it runs, until it has run: so long the
  /// test is not idle. It runs on behalf of the test.
  final class DispatchedBlock: @unchecked Sendable {
    let owner: TaskOwner
    private let queue: OpaquePointer
    private var block: HandedBlock?
    /// Whether Dispatch is to run the block alone on the queue.
    private let isBarrier: Bool
    /// The group that is left when the block has run.
    private let group: OpaquePointer?
    /// Its number with the owner; 0 as long as it does not count.
    var number: UInt64 = 0
    /// Whether it waits for a group, or for a work item. `Notifications` guards the number then.
    private let isNotification: Bool

    /// Keeps a block; the group must have been entered for it.
    init(
      _ block: UnsafeRawPointer, on queue: OpaquePointer, of owner: TaskOwner,
      isBarrier: Bool = false, group: OpaquePointer? = nil, isNotification: Bool = false
    ) {
      self.owner = owner
      self.queue = queue
      let block = HandedBlock(keeping: block)
      self.block = block
      self.isBarrier = isBarrier || block.isBarrier
      self.group = group
      self.isNotification = isNotification
      DispatchObject.keep(queue)
      group.map(DispatchObject.keep)
    }

    deinit {
      block?.release()
      DispatchObject.release(queue)
      group.map(DispatchObject.release)
    }

    /// The label of the queue, for reports.
    var queueName: String { DispatchObject.label(of: queue) }

    /// Counts from now on.
    func count() {
      guard number == 0 else { return }
      number = owner.workBegan(on: queueName)
      if let block, block.isItem { Notifications.itemIsHandedOver(block.pointer) }
    }

    /// Hands it to its queue, and counts from now on.
    func hand() {
      count()
      let pointer = Unmanaged.passRetained(self).toOpaque()
      if isBarrier {
        dispatch_barrier_async_f(queue, pointer) { DispatchedBlock.run($0) }
      } else {
        dispatch_async_f(queue, pointer) { DispatchedBlock.run($0) }
      }
    }

    /// Has Dispatch hand it to its queue after a while of real time; it counts when it begins.
    func hand(after nanoseconds: Int64) {
      let pointer = Unmanaged.passRetained(self).toOpaque()
      dispatch_after_f(dispatch_time(0, nanoseconds), queue, pointer) { DispatchedBlock.run($0) }
    }

    /// Runs it, where Dispatch has been given the pointer to it.
    static func run(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<DispatchedBlock>.fromOpaque(pointer).takeRetainedValue().run()
    }

    func run() {
      if isNotification {
        Notifications.begins(self)
        if let block, block.isItem { Notifications.itemIsHandedOver(block.pointer) }
      } else {
        count()
      }
      DispatchedBlock.runBlock(of: owner) {
        block?()
        if let block, block.isItem { Notifications.itemHasRun(block.pointer) }
        // What it holds is let go of on behalf of the test, too.
        block?.release()
        block = nil
      }
      if let group { Notifications.leave(group) }
      owner.workEnded(number)
    }

    /// Runs somebody's code on behalf of an owner.
    static func runBlock(of owner: TaskOwner, _ body: () -> Void) {
      var context = ThreadContext(owner: owner, isInJob: true, isOnQueue: true)
      context.run { _ in body() }
      guard !context.ownersAwaitingEnd.isEmpty else { return }
      ExternalTaskRegistry.look()
      for owner in context.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
    }
  }
#endif
