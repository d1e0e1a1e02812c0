import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  /// A block that a test submitted to a dispatch queue, and that runs on behalf of the test.
  ///
  /// The block *counts* as soon as only its queue decides when it runs: until it has run, the test is not idle.
  final class DispatchedBlock: @unchecked Sendable {
    /// The test for which a block runs.
    enum Test {
      case owner(TaskOwner)
      /// A test case that has no owner, by its id.
      case unowned(UInt64)
    }

    enum Count {
      case none
      /// The owner's number for the block.
      case number(UInt64)
      case unowned(UnownedBlock)

      var isAny: Bool { if case .none = self { false } else { true } }
    }

    private let test: Test
    let queue: OpaquePointer
    private(set) lazy var blockQueue = BlockQueue(queue)
    private var block: HandedBlock.Block
    private let isBarrier: Bool
    private let group: OpaquePointer?
    private var count = Count.none
    /// Whether the block waits for a group or a work item. If so, the lock of `Notifications` guards `count`.
    private let isNotification: Bool

    /// Retains the block, the queue and the group. The caller must have entered the group for the block.
    init(
      _ block: UnsafeRawPointer, on queue: OpaquePointer, of test: Test,
      isBarrier: Bool = false, group: OpaquePointer? = nil, isNotification: Bool = false
    ) {
      self.test = test
      self.queue = queue
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

    /// Whether the block waits for earlier jobs of the main actor.
    var keepsOrder: Bool {
      if case .owner = test { blockQueue.isMain } else { false }
    }

    var isCounted: Bool { count.isAny }

    /// Makes the block count.
    func begin() {
      guard !isCounted else { return }
      let queue: UnownedBlock.Queue =
        if case .owner = test { .known(blockQueue) } else { .dispatch(queue) }
      count = test.workBegan(on: queue, isBarrier: isBarrier)
    }

    func submit() {
      begin()
      guard case .owner(let owner) = test, blockQueue.isMain, case .number(let number) = count
      else { return enqueue() }
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
    func submit(by notify: (UnsafeRawPointer) -> Void) {
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
      if isNotification { Notifications.begin(self) } else { begin() }
      let handed = HandedBlock(unsafeBitCast(block, to: UnsafeRawPointer.self))
      let body = {
        self.block()
        if handed.isItem { Notifications.itemHasRun(handed.pointer) }
        // The objects that the block retains are released on behalf of the test, too.
        self.block = {}
        if let group = self.group { Notifications.leave(group) }
      }
      let purpose: ThreadContext.Purpose = handed.library == .networking ? .networking : .nothing
      DispatchedBlock.run(
        count, on: blockQueue, isBarrier: isBarrier, of: test, for: purpose, body)
    }

    /// Runs user code that counts already.
    static func run(
      _ count: Count, on queue: @autoclosure () -> BlockQueue, isBarrier: Bool = false,
      of test: Test, for purpose: ThreadContext.Purpose = .nothing, _ body: () -> Void
    ) {
      switch (test, count) {
      case (.owner(let owner), .number(let number)):
        run(number, on: queue(), isBarrier: isBarrier, of: owner, for: purpose, body)
      case (_, .unowned(let block)): run(block, body)
      default: preconditionFailure("a block that runs must count")
      }
    }

    private static func run(_ block: UnownedBlock, _ body: () -> Void) {
      var mark: UInt8 = 0
      block.begin(mark: withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) })
      let thread = ThreadState.ofThread
      let outer = thread.pointee.unownedBlock
      thread.pointee.unownedBlock = block
      body()
      thread.pointee.unownedBlock = outer
      block.end()
    }

    /// Runs user code that counts as a block. Without a number, it counts from now on.
    static func run(
      _ number: UInt64? = nil, on queue: BlockQueue, isBarrier: Bool = false, of owner: TaskOwner,
      for purpose: ThreadContext.Purpose = .nothing, _ body: () -> Void
    ) {
      if queue.isMain { ThreadWaits.sourceBegins() }
      let number = number ?? owner.blockBegan(on: queue, isBarrier: isBarrier)
      var mark: UInt8 = 0
      owner.workRuns(
        number, mark: withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) })
      let waits = ThreadWaits.ofBlock(number, on: queue, isBarrier: isBarrier, of: owner)
      var context = ThreadContext(
        owner: owner, purpose: purpose, isInJob: true, isOnQueue: true, waits: waits)
      context.run { _ in body() }
      if !context.ownersAwaitingEnd.isEmpty { ExternalTaskRegistry.checkTasks() }
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

  extension DispatchedBlock.Test {
    /// Makes a block, or the handler of a source, count.
    func workBegan(on queue: UnownedBlock.Queue, isBarrier: Bool = false) -> DispatchedBlock.Count {
      switch self {
      case .owner(let owner):
        return .number(owner.blockBegan(on: queue.blockQueue, isBarrier: isBarrier))
      case .unowned(let testCase):
        let block = UnownedBlock(on: queue, isBarrier: isBarrier, of: testCase)
        block.submit()
        return .unowned(block)
      }
    }

    /// Notes that the work will never begin.
    func workEnded(_ count: DispatchedBlock.Count) {
      switch (self, count) {
      case (.owner(let owner), .number(let number)): owner.workEnded(number)
      case (_, .unowned(let block)): block.end()
      default: break
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
