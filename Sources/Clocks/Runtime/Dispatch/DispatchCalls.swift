// Swift code uses Dispatch through the library libswiftDispatch, which calls the C functions of libdispatch
// through its call table. These functions are replaced there.
//
// | function | what the replacement does |
// |---|---|
// | `dispatch_async`, `dispatch_barrier_async`, `dispatch_group_async` | counts the block until it has run |
// | `dispatch_group_notify`, `dispatch_block_notify` | counts the block as soon as it can begin |
// | `dispatch_group_leave` | finds out whether the group is empty |
// | `dispatch_sync`, `dispatch_barrier_sync`, `dispatch_apply` | runs the block on behalf of the test, on any thread |
// | `dispatch_after` | in virtual time, submits the block at its virtual instant |
// | `dispatch_queue_create…`, `dispatch_suspend`, `…_resume`, `…_activate` | finds out whether blocks can begin |
// | `dispatch_source_…` | counts registrations and handlers; fires timers at their virtual instants |
// | `dispatch_set_target_queue` | finds out on which queue the handlers of a source run |
// | `dispatch_time`, `dispatch_walltime` | reads the virtual clock if the caller's time is virtual |
// | `dispatch_semaphore_wait`, `dispatch_group_wait`, `dispatch_block_wait` | waits in real or virtual time |
//
// Foundation's operation queues use the Swift library, so their blocks are seen, too. Code that calls libdispatch
// directly is not seen: the Swift runtime, Foundation's run loops, code in C, and this package.
//
// Sources: swift-corelibs-libdispatch, `src/swift/Queue.swift`, `Source.swift`, `Block.swift`.

import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch
#endif

/// The calls by which Swift code submits blocks to Dispatch.
enum DispatchCalls {
  nonisolated(unsafe) private(set) static var areSeen = false

  /// Redirects the calls, where that is possible. Called once, while the hooks are installed.
  static func redirect() {
    #if os(Linux) && canImport(Glibc)
      areSeen =
        Environment.seesDispatch && HandedBlock.isReadable && BlockQueue.isReadable
        && DispatchTimes.areReadable && areTimersKnown
        && redirectAll(in: "libswiftDispatch.so")
    #endif
  }
}

#if os(Linux) && canImport(Glibc)
  extension DispatchCalls {
    /// Redirects the calls of a library if it calls all functions that are needed. Returns whether it did.
    static func redirectAll(in library: StaticString) -> Bool {
      let all =
        sources + [
          createWithTarget.entry, async.entry, barrierAsync.entry, sync.entry, barrierSync.entry,
          after.entry, apply.entry, groupAsync.entry, groupNotify.entry, groupLeave.entry,
          itemNotify.entry, semaphoreWait.entry, groupWait.entry, itemWait.entry, time.entry,
          wallTime.entry,
        ]
      guard CallTables.calls(all, in: library), CallTables.redirect(all, in: .library(library))
      else { return false }
      // The library of Swift 6.2 makes all queues with the other function, and does not call this one.
      CallTables.redirect([create.entry], in: .library(library))
      return true
    }

    @_transparent
    static var owner: TaskOwner? {
      TaskOwnership.shared.isEmpty ? nil : ThreadContext.runningOwner
    }

    @_transparent
    private static func owner(of block: UnsafeRawPointer) -> TaskOwner? {
      guard let owner, HandedBlock(block).library != .ofTests else { return nil }
      return owner
    }

    /// The test for which the current thread submits blocks; `nil` if it runs no code of a test.
    static var test: DispatchedBlock.Test? {
      if let owner { return .owner(owner) }
      let (testCase, adopter) = TestCaseMembership.ofThread
      return testCase == 0 ? adopter.map { .owner($0) } : .unowned(testCase)
    }

    private static func test(of block: UnsafeRawPointer) -> DispatchedBlock.Test? {
      guard let test, HandedBlock(block).library != .ofTests else { return nil }
      return test
    }

    private typealias Create =
      @convention(c) (UnsafePointer<CChar>?, OpaquePointer?) -> OpaquePointer?
    private typealias CreateWithTarget =
      @convention(c) (UnsafePointer<CChar>?, OpaquePointer?, OpaquePointer?) -> OpaquePointer?

    private static let create: Interposed<Create> = Interposed("dispatch_queue_create") {
      SuspendedQueues.wasMade(create.original($0, $1), attribute: $1)
    }

    private static let createWithTarget: Interposed<CreateWithTarget> = Interposed(
      "dispatch_queue_create_with_target"
    ) { SuspendedQueues.wasMade(createWithTarget.original($0, $1, $2), attribute: $1) }

    private typealias Async = @convention(c) (OpaquePointer, UnsafeRawPointer) -> Void
    private typealias After = @convention(c) (UInt64, OpaquePointer, UnsafeRawPointer) -> Void

    private static let async: Interposed<Async> = Interposed("dispatch_async") { queue, block in
      guard let test = test(of: block) else { return async.original(queue, block) }
      DispatchedBlock(block, on: queue, of: test).submit()
    }

    private static let barrierAsync: Interposed<Async> = Interposed("dispatch_barrier_async") {
      queue, block in
      guard let test = test(of: block) else { return barrierAsync.original(queue, block) }
      DispatchedBlock(block, on: queue, of: test, isBarrier: true).submit()
    }

    private static let sync: Interposed<Async> = Interposed("dispatch_sync") { queue, block in
      if let waits = ThreadWaits.ofXCTest,
        DispatchObject.label(of: queue) == "org.swift.XCTest.WaiterManager"
      {
        return waits.runManaging { sync.original(queue, block) }
      }
      run(block, on: queue, by: sync.original)
    }

    private static let barrierSync: Interposed<Async> = Interposed("dispatch_barrier_sync") {
      queue, block in
      run(block, on: queue, isBarrier: true, by: barrierSync.original)
    }

    private static let after: Interposed<After> = Interposed("dispatch_after") {
      instant, queue, block in
      if ThreadWaits.leavesOut(workOn: queue, at: instant) { return }
      guard let delay = DispatchTimes.delay(until: instant, for: owner),
        HandedBlock(block).library == nil
      else { return after.original(instant, queue, block) }
      guard let test else {
        RealSleeps.begin(blockAt: instant, of: nil)
        return after.original(instant, queue, block)
      }
      let work = DispatchedBlock(block, on: queue, of: test)
      guard case .owner(let owner) = test else {
        RealSleeps.begin(blockAt: instant, of: nil)
        return work.submit { after.original(instant, queue, $0) }
      }
      guard delay > .zero else { return work.submit() }
      let callback = TimedCallback(
        "queue \"\(work.blockQueue.label)\"", isDelayedBlock: true,
        date: DispatchTimes.virtualDate(instant, of: owner), begin: { work.submit() },
        handBack: { work.submit(after: $0.wholeNanoseconds) })
      if owner.isVirtual, owner.enqueue(callback, after: delay) { return }
      RealSleeps.begin(blockAt: instant, of: owner)
      callback.handBack(delay)
    }

    private static func run(
      _ block: UnsafeRawPointer, on queue: OpaquePointer, isBarrier: Bool = false,
      by original: Async
    ) {
      let handed = HandedBlock(block)
      guard let owner else { return original(queue, block) }
      let blockQueue = BlockQueue(queue)
      if blockQueue.isMain { owner.submitMainBlocks() }
      let isBarrierItem = handed.isBarrier
      let body = {
        DispatchedBlock.runSync(on: blockQueue, isBarrier: isBarrier || isBarrierItem, of: owner) {
          handed()
          if handed.isItem { Notifications.itemHasRun(handed.pointer) }
        }
      }
      // Dispatch reads the flag from the block that it is given, which is not the item.
      HandedBlock.withBlock(body) {
        isBarrierItem ? barrierSync.original(queue, $0) : original(queue, $0)
      }
    }

    private typealias Apply =
      @convention(c) (Int, OpaquePointer?, @escaping @convention(block) (Int) -> Void) -> Void

    /// `concurrentPerform`: the iterations run on the calling thread, and on others.
    private static let apply: Interposed<Apply> = Interposed("dispatch_apply") {
      iterations, queue, block in
      guard let owner = owner(of: unsafeBitCast(block, to: UnsafeRawPointer.self)) else {
        return apply.original(iterations, queue, block)
      }
      let all = BlockQueue(label: "concurrentPerform", isConcurrent: true)
      apply.original(iterations, queue) { number in
        guard ThreadContext.current == nil else { return block(number) }
        DispatchedBlock.run(on: all, of: owner) { block(number) }
      }
    }

    private typealias ForGroup =
      @convention(c) (OpaquePointer, OpaquePointer, UnsafeRawPointer) -> Void
    private typealias ForItem =
      @convention(c) (UnsafeRawPointer, OpaquePointer, UnsafeRawPointer) -> Void
    typealias OfObject = DispatchObject.OfObject

    private static let groupAsync: Interposed<ForGroup> = Interposed("dispatch_group_async") {
      group, queue, block in
      guard let test = test(of: block) else { return groupAsync.original(group, queue, block) }
      dispatch_group_enter(group)
      DispatchedBlock(block, on: queue, of: test, group: group).submit()
    }

    private static let groupNotify: Interposed<ForGroup> = Interposed("dispatch_group_notify") {
      group, queue, block in
      guard let test = test(of: block) else { return groupNotify.original(group, queue, block) }
      let work = DispatchedBlock(block, on: queue, of: test, isNotification: true)
      Notifications.add(work, to: group) { groupNotify.original(group, $0, $1) }
    }

    private static let groupLeave: Interposed<OfObject> = Interposed("dispatch_group_leave") {
      group in
      if TaskOwnership.shared.isEmpty, !Notifications.areWaiting {
        return dispatch_group_leave(group)
      }
      Notifications.leave(group)
    }

    private static let itemNotify: Interposed<ForItem> = Interposed("dispatch_block_notify") {
      item, queue, block in
      guard let test = test(of: block) else { return itemNotify.original(item, queue, block) }
      let work = DispatchedBlock(block, on: queue, of: test, isNotification: true)
      Notifications.add(work, toItem: item) { itemNotify.original(item, $0, $1) }
    }

    private static let time: Interposed<@convention(c) (UInt64, Int64) -> UInt64> = Interposed(
      "dispatch_time"
    ) { DispatchTimes.time($0, $1) }

    private static let wallTime:
      Interposed<@convention(c) (UnsafePointer<timespec>?, Int64) -> UInt64> = Interposed(
        "dispatch_walltime"
      ) { DispatchTimes.wallTime($0, $1) }

    private typealias Wait = @convention(c) (OpaquePointer, UInt64) -> Int

    private static let semaphoreWait: Interposed<Wait> = Interposed("dispatch_semaphore_wait") {
      semaphore, instant in
      let block = { dispatch_semaphore_wait(semaphore, $0) }
      let thread = instant == DispatchTimes.never ? ThreadWaits.ofThread : nil
      if let thread, thread.work == .testThread, !thread.isInUse {
        return AwaitedObjects.wait(for: semaphore, on: thread, block)
      }
      let result = wait(for: semaphore, until: instant, block)
      // The wait of a method has counted the signal.
      if result == 0, ThreadWaits.areSleepsSeen, thread?.work != .method {
        AwaitedObjects.signalWasTaken(semaphore)
      }
      return result
    }

    private static let groupWait: Interposed<Wait> = Interposed("dispatch_group_wait") {
      group, instant in
      wait(for: group, until: instant) { dispatch_group_wait(group, $0) }
    }

    private static func wait(
      for object: OpaquePointer, until instant: UInt64, _ wait: (UInt64) -> Int
    ) -> Int {
      if let result = LimitedWait.wait(for: object, until: instant, wait) { return result }
      let instant = DispatchTimes.realInstant(instant)
      guard let waits = ThreadWaits.ofThread, waits.work == .method else { return wait(instant) }
      guard instant == DispatchTimes.never else { return waits.paused(until: instant, wait) }
      return AwaitedObjects.wait(for: object, of: waits.owner) {
        waits.paused(until: instant, wait)
      }
    }

    private static let itemWait: Interposed<Wait> = Interposed("dispatch_block_wait") {
      item, instant in
      let wait = { itemWait.original(item, $0) }
      // An item may run without a queue (`perform()`), where this package does not see its end. A notification of
      // Dispatch reports it.
      let observe = { (itemHasRun: @escaping @Sendable () -> Void) in
        let queue = InternalDispatch.globalQueue(.utility, isBlocked: true)
        HandedBlock.withBlock(itemHasRun) {
          itemNotify.original(UnsafeRawPointer(item), queue, $0)
        }
      }
      return LimitedWait.wait(for: item, until: instant, observe: observe, wait)
        ?? wait(DispatchTimes.realInstant(instant))
    }
  }
#endif
