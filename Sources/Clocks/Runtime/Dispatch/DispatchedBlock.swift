import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  /// A block that a test has submitted to a dispatch queue, and that runs on behalf of the test.
  ///
  /// The block *counts* as soon as only its queue decides when it runs: until it has run, the test is not idle.
  final class DispatchedBlock: @unchecked Sendable {
    let owner: TaskOwner
    fileprivate let queue: OpaquePointer
    let blockQueue: BlockQueue
    private var block: HandedBlock.Block
    private let isBarrier: Bool
    private let group: OpaquePointer?
    /// The owner's number for the block; 0 until the block counts.
    private var number: UInt64 = 0
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
      let handed = HandedBlock(block)
      self.block = handed.retained
      self.isBarrier = isBarrier || handed.isBarrier
      self.group = group
      self.isNotification = isNotification
      DispatchObject.retain(queue)
      group.map(DispatchObject.retain)
    }

    deinit {
      DispatchObject.release(queue)
      group.map(DispatchObject.release)
    }

    fileprivate var isCounted: Bool { number != 0 }

    fileprivate func count() {
      if number == 0 { number = owner.workBegan(on: blockQueue, isBarrier: isBarrier) }
    }

    func submit() {
      count()
      guard blockQueue.isMain else { return enqueue() }
      owner.mainBlockIsReady(number) { self.enqueue() }
    }

    private func enqueue() {
      let submit = isBarrier ? dispatch_barrier_async_f : dispatch_async_f
      submit(queue, retained) { DispatchedBlock.run($0) }
    }

    /// Submits the block to its queue after real time has passed. The block counts when it begins.
    func submit(after nanoseconds: Int64) {
      dispatch_after_f(dispatch_time(0, nanoseconds), queue, retained) { DispatchedBlock.run($0) }
    }

    /// Submits a block that is a barrier if this one is. `notify` retains the block that it is given.
    fileprivate func submit(by notify: (UnsafeRawPointer) -> Void) {
      if isBarrier {
        HandedBlock.withBarrier({ self.run() }, notify)
      } else {
        HandedBlock.withBlock({ self.run() }, notify)
      }
    }

    /// The argument of `run`.
    private var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// - Parameter pointer: A retained `DispatchedBlock`.
    private static func run(_ pointer: UnsafeMutableRawPointer?) {
      Unmanaged<DispatchedBlock>.fromOpaque(pointer!).takeRetainedValue().run()
    }

    private func run() {
      if isNotification { Notifications.begin(self) } else { count() }
      let handed = HandedBlock(unsafeBitCast(block, to: UnsafeRawPointer.self))
      let isNetworking = handed.library == .networking
      DispatchedBlock.run(
        number, on: blockQueue, isBarrier: isBarrier, of: owner,
        for: isNetworking ? .networking : .nothing
      ) {
        block()
        if handed.isItem { Notifications.itemHasRun(handed.pointer) }
        // What the block retains is released on behalf of the test, too.
        block = {}
        if let group { Notifications.leave(group) }
      }
    }

    /// Runs user code that counts as a block. Without a number, it counts from now on.
    static func run(
      _ number: UInt64? = nil, on queue: BlockQueue, isBarrier: Bool = false, of owner: TaskOwner,
      for purpose: ThreadContext.Purpose = .nothing, _ body: () -> Void
    ) {
      if queue.isMain { ThreadWaits.sourceBegins() }
      let number = number ?? owner.workBegan(on: queue, isBarrier: isBarrier)
      var mark: UInt8 = 0
      owner.workRuns(
        number, mark: withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) })
      let waits = ThreadWaits.ofBlock(number, on: queue, isBarrier: isBarrier, of: owner)
      var context = ThreadContext(
        owner: owner, purpose: purpose, isInJob: true, isOnQueue: true, waits: waits)
      context.run { _ in body() }
      if !context.ownersAwaitingEnd.isEmpty { ExternalTaskRegistry.look() }
      for owner in context.ownersAwaitingEnd { owner.externallyStartedJobEnded(on: nil) }
      owner.workEnded(waits?.block ?? number)
    }

    /// Runs a block of `DispatchQueue.sync`. A block of the main queue runs on another thread than the test.
    static func runSync(
      on queue: BlockQueue, isBarrier: Bool, of owner: TaskOwner, _ block: () -> Void
    ) {
      guard let context = ThreadContext.current else {
        return run(on: queue, isBarrier: isBarrier, of: owner) { block() }
      }
      // To a run loop of the main thread, the block is a source.
      if queue.isMain { ThreadWaits.sourceBegins() }
      guard owner.pausingAll != nil else { return block() }
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
  }

  /// The blocks that begin when a group is empty, or when a work item has run.
  ///
  /// A block does not count until then, because the group or item may itself wait for time to move.
  enum Notifications {
    /// Guards `waiting`, and the numbers of its blocks. Rank `dispatchNotifications`: owners' locks are taken under it,
    /// and no user code runs.
    private static let lock = Lock(.dispatchNotifications)
    /// The blocks that wait for each group that is not empty, and for each work item that has not run yet.
    @exclusivity(unchecked) nonisolated(unsafe) private static var waiting:
      [OpaquePointer: [DispatchedBlock]] = [:]

    /// Submits a block when a group is empty.
    ///
    /// - Parameter notify: Calls `dispatch_group_notify` with a queue and a block, which it retains.
    static func add(
      _ work: DispatchedBlock, to group: OpaquePointer,
      by notify: (OpaquePointer, UnsafeRawPointer) -> Void
    ) {
      lock.withLock {
        // Dispatch would do this itself, but without regard to earlier jobs of the main actor.
        if isEmpty(group) { return work.submit() }
        waiting[group, default: []].append(work)
        register(work, by: notify)
        if isEmpty(group) { beginAll(for: group) }
      }
    }

    static func leave(_ group: OpaquePointer) {
      lock.withLock {
        dispatch_group_leave(group)
        if waiting[group] != nil, isEmpty(group) { beginAll(for: group) }
      }
      LimitedWait.mayEnd(for: group)
      if ThreadWaits.areSleepsSeen, isEmpty(group) { AwaitedObjects.willSignal(group) }
    }

    /// Counts the blocks that begin now, because their group is empty or their item has run. Submits those of the main
    /// queue.
    private static func beginAll(for object: OpaquePointer) {
      for work in waiting.removeValue(forKey: object) ?? [] {
        if work.blockQueue.isMain { work.submit() } else { work.count() }
      }
    }

    private static func isEmpty(_ group: OpaquePointer) -> Bool {
      // Dispatch sets `errno` if the group is not empty. The program may be about to read it.
      let error = errno
      defer { errno = error }
      return dispatch_group_wait(group, 0) == 0
    }

    /// Submits a block when a work item has run.
    ///
    /// - Parameter notify: Calls `dispatch_block_notify` with a queue and a block, which it retains.
    static func add(
      _ work: DispatchedBlock, toItem item: UnsafeRawPointer,
      by notify: (OpaquePointer, UnsafeRawPointer) -> Void
    ) {
      let isSubmitted = lock.withLock {
        // Dispatch ends the process if the item has run more often.
        if HandedBlock(item).runs == 1 {
          work.submit()
          return true
        }
        waiting[OpaquePointer(item), default: []].append(work)
        return false
      }
      if !isSubmitted { register(work, by: notify) }
    }

    /// Lets Dispatch run a block when its group is empty, or its item has run. A block of the main queue is submitted then,
    /// unless that was done before.
    private static func register(
      _ work: DispatchedBlock, by notify: (OpaquePointer, UnsafeRawPointer) -> Void
    ) {
      guard work.blockQueue.isMain else { return work.submit { notify(work.queue, $0) } }
      // Dispatch would submit the block before earlier ones, which wait for jobs of the main actor. And later jobs
      // would begin before the block.
      let queue = InternalDispatch.globalQueue(.utility, isBlocked: true)
      let submission = { submit(work) }
      HandedBlock.withBlock(submission) { notify(queue, $0) }
    }

    /// Submits a block whose group is empty, or whose item has run, unless that was seen.
    private static func submit(_ work: DispatchedBlock) {
      lock.withLock {
        guard !work.isCounted else { return }
        remove(work)
        work.submit()
      }
    }

    /// Counts the blocks that begin now. Must be called before the item itself no longer counts.
    static func itemHasRun(_ item: UnsafeRawPointer) {
      lock.withLock { beginAll(for: OpaquePointer(item)) }
      LimitedWait.mayEnd(for: OpaquePointer(item))
    }

    /// Counts a block that begins now, even if it was not seen that its group is empty, or that its item has run.
    static func begin(_ work: DispatchedBlock) {
      lock.withLock {
        // A block that counts does not wait any more.
        if !work.isCounted { remove(work) }
        work.count()
      }
    }

    /// O(blocks that wait)
    private static func remove(_ work: DispatchedBlock) {
      for (object, blocks) in waiting where blocks.contains(where: { $0 === work }) {
        waiting[object] = blocks.count == 1 ? nil : blocks.filter { $0 !== work }
      }
    }
  }

  /// The functions that Dispatch has for all of its objects.
  enum DispatchObject {
    // These functions are used only after `HandedBlock.isReadable` has found them.
    static let retain = RuntimeSymbol.function("dispatch_retain", as: OfObject.self)!
    static let release = RuntimeSymbol.function("dispatch_release", as: OfObject.self)!
    typealias OfObject = @convention(c) (OpaquePointer) -> Void

    static func label(of queue: OpaquePointer) -> String {
      String(cString: dispatch_queue_get_label(queue))
    }
  }
#endif
