// Swift code uses Dispatch through a library of Swift's, libswiftDispatch, which calls the C functions
// of libdispatch through its call table. There we put ours in their places.
//
// | function | what becomes of it |
// |---|---|
// | `dispatch_async`, `dispatch_barrier_async`, `dispatch_group_async` | the work counts until it has run |
// | `dispatch_group_notify`, `dispatch_block_notify` | … from when its group is empty, or its item is on a queue |
// | `dispatch_group_leave` | tells which groups are empty |
// | `dispatch_sync`, `dispatch_barrier_sync` | on another thread, too, the work is the test's |
// | `dispatch_after` | in virtual time the work begins at its virtual instant |
// | `dispatch_source_create`, `…_set_timer`, the handlers, `dispatch_resume` and so on | the same for timers |
// | `dispatch_time`, `dispatch_walltime` | read virtual time in virtual time |
// | `dispatch_semaphore_wait`, `dispatch_group_wait`, `dispatch_block_wait` | wait in real time |
//
// Foundation's operation queues use Swift's library, so they are seen, too. What calls libdispatch
// itself is not: the Swift runtime, Foundation's run loops, code in C, and this package.
//
// Sources: swift-corelibs-libdispatch, `src/swift/Queue.swift`, `Source.swift`, `Block.swift`.

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import Glibc
  internal import CDispatch
#endif

/// Work that Swift code hands to Dispatch.
enum DispatchCalls {
  /// Whether it is seen.
  static var areSeen: Bool { seen }

  nonisolated(unsafe) private static var seen = false

  /// Sees to it that it is seen, where that is possible. To be called once, while the door is opened.
  static func redirect() {
    #if os(Linux) && canImport(Glibc) && compiler(>=6.2)
      seen =
        Environment.seesDispatch && HandedBlock.isReadable && DispatchTimes.areReadable
        && redirectAll(in: "libswiftDispatch.so")
    #endif
  }
}

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  extension DispatchCalls {
    /// Says whether the library calls all of them; if it does not, nothing is changed.
    static func redirectAll(in library: String) -> Bool {
      let all = work + groups + waits + times + timers
      guard CallTables.calls(all.map(\.name), in: library) else { return false }
      return CallTables.redirect(all, in: library).count == all.count
    }

    typealias Calls = [(name: StaticString, function: UnsafeRawPointer)]

    /// The owner of the work that the current thread hands over, if it is anybody's.
    @inline(__always)
    static var owner: TaskOwner? {
      TaskOwnership.shared.isEmpty ? nil : ThreadContext.runningOwner
    }

    @inline(__always)
    private static func owner(of block: UnsafeRawPointer) -> TaskOwner? {
      guard let owner, !HandedBlock(block).isOfLibrary else { return nil }
      return owner
    }

    /// A function of libdispatch's as what it is.
    static func original<Function>(
      _ name: String, as _: Function.Type
    ) -> Function {
      unsafeBitCast(RuntimeHooks.symbol(name), to: Function.self)
    }

    // MARK: Work

    private typealias Async = @convention(c) (OpaquePointer, UnsafeRawPointer) -> Void
    private typealias After = @convention(c) (UInt64, OpaquePointer, UnsafeRawPointer) -> Void
    private typealias ForGroup =
      @convention(c) (OpaquePointer, OpaquePointer, UnsafeRawPointer) -> Void
    private typealias ForItem =
      @convention(c) (UnsafeRawPointer, OpaquePointer, UnsafeRawPointer) -> Void

    private static let originalAsync = original("dispatch_async", as: Async.self)
    private static let originalBarrierAsync = original("dispatch_barrier_async", as: Async.self)
    private static let originalSync = original("dispatch_sync", as: Async.self)
    private static let originalBarrierSync = original("dispatch_barrier_sync", as: Async.self)
    private static let originalAfter = original("dispatch_after", as: After.self)
    private static let originalGroupAsync = original("dispatch_group_async", as: ForGroup.self)
    private static let originalGroupNotify = original("dispatch_group_notify", as: ForGroup.self)
    private static let originalBlockNotify = original("dispatch_block_notify", as: ForItem.self)

    private static var work: Calls {
      let async: Async = { queue, block in
        guard let owner = DispatchCalls.owner(of: block) else {
          return DispatchCalls.originalAsync(queue, block)
        }
        DispatchedBlock(block, on: queue, of: owner).hand()
      }
      let barrierAsync: Async = { queue, block in
        guard let owner = DispatchCalls.owner(of: block) else {
          return DispatchCalls.originalBarrierAsync(queue, block)
        }
        DispatchedBlock(block, on: queue, of: owner, isBarrier: true).hand()
      }
      let sync: Async = { queue, block in
        DispatchCalls.sync(queue, block, DispatchCalls.originalSync, dispatch_sync_f)
      }
      let barrierSync: Async = { queue, block in
        DispatchCalls.sync(queue, block, DispatchCalls.originalBarrierSync, dispatch_barrier_sync_f)
      }
      let after: After = { DispatchCalls.after($0, $1, $2) }
      return [
        ("dispatch_async", unsafeBitCast(async, to: UnsafeRawPointer.self)),
        ("dispatch_barrier_async", unsafeBitCast(barrierAsync, to: UnsafeRawPointer.self)),
        ("dispatch_sync", unsafeBitCast(sync, to: UnsafeRawPointer.self)),
        ("dispatch_barrier_sync", unsafeBitCast(barrierSync, to: UnsafeRawPointer.self)),
        ("dispatch_after", unsafeBitCast(after, to: UnsafeRawPointer.self)),
      ]
    }

    private static func after(
      _ instant: UInt64, _ queue: OpaquePointer, _ block: UnsafeRawPointer
    ) {
      guard instant != DispatchTimes.never, let owner = owner(of: block) else {
        return originalAfter(instant, queue, block)
      }
      let work = DispatchedBlock(block, on: queue, of: owner)
      guard let delay = DispatchTimes.delay(until: instant, for: owner) else { return }
      guard delay > .zero else { return work.hand() }
      let delayed = TimedCallback(
        "queue \"\(work.queueName)\"", begin: { work.hand() },
        handBack: { work.hand(after: $0.wholeNanoseconds) })
      if !owner.isVirtual || !owner.enqueue(delayed, after: delay) { delayed.handBack(delay) }
    }

    /// A block that another thread may run while this one waits for it.
    private struct AwaitedBlock {
      var block: HandedBlock
      var owner: TaskOwner
    }

    private static func sync(
      _ queue: OpaquePointer, _ block: UnsafeRawPointer, _ original: Async,
      _ function: (OpaquePointer, UnsafeMutableRawPointer?, dispatch_function_t) -> Void
    ) {
      let handed = HandedBlock(block)
      guard let owner, !handed.isItem else { return original(queue, block) }
      var awaited = AwaitedBlock(block: handed, owner: owner)
      withUnsafeMutablePointer(to: &awaited) { pointer in
        function(queue, pointer) {
          let awaited = $0!.assumingMemoryBound(to: AwaitedBlock.self).pointee
          guard ThreadContext.current == nil else { return awaited.block() }
          DispatchedBlock.runBlock(of: awaited.owner) { awaited.block() }
        }
      }
    }

    // MARK: Groups and work items

    private static var groups: Calls {
      let async: ForGroup = { group, queue, block in
        guard let owner = DispatchCalls.owner(of: block) else {
          return DispatchCalls.originalGroupAsync(group, queue, block)
        }
        dispatch_group_enter(group)
        DispatchedBlock(block, on: queue, of: owner, group: group).hand()
      }
      let notify: ForGroup = { group, queue, block in
        guard let owner = DispatchCalls.owner(of: block) else {
          return DispatchCalls.originalGroupNotify(group, queue, block)
        }
        let work = DispatchedBlock(block, on: queue, of: owner, isNotification: true)
        Notifications.add(work, on: queue, to: group)
      }
      let leave: @convention(c) (OpaquePointer) -> Void = { group in
        if TaskOwnership.shared.isEmpty {
          dispatch_group_leave(group)
        } else {
          Notifications.leave(group)
        }
      }
      let notifyOfItem: ForItem = { item, queue, block in
        guard let owner = DispatchCalls.owner(of: block) else {
          return DispatchCalls.originalBlockNotify(item, queue, block)
        }
        let work = DispatchedBlock(block, on: queue, of: owner, isNotification: true)
        Notifications.add(work, on: queue, toItem: item)
      }
      return [
        ("dispatch_group_async", unsafeBitCast(async, to: UnsafeRawPointer.self)),
        ("dispatch_group_notify", unsafeBitCast(notify, to: UnsafeRawPointer.self)),
        ("dispatch_group_leave", unsafeBitCast(leave, to: UnsafeRawPointer.self)),
        ("dispatch_block_notify", unsafeBitCast(notifyOfItem, to: UnsafeRawPointer.self)),
      ]
    }

    // MARK: Times

    private static var times: Calls {
      let time: @convention(c) (UInt64, Int64) -> UInt64 = { DispatchTimes.time($0, $1) }
      let wallTime: @convention(c) (UnsafePointer<timespec>?, Int64) -> UInt64 = {
        DispatchTimes.wallTime($0, $1)
      }
      return [
        ("dispatch_time", unsafeBitCast(time, to: UnsafeRawPointer.self)),
        ("dispatch_walltime", unsafeBitCast(wallTime, to: UnsafeRawPointer.self)),
      ]
    }

    private typealias ItemWait = @convention(c) (UnsafeRawPointer, UInt64) -> Int

    private static let originalItemWait = original("dispatch_block_wait", as: ItemWait.self)

    private static var waits: Calls {
      let semaphore: @convention(c) (OpaquePointer, UInt64) -> Int = {
        dispatch_semaphore_wait($0, DispatchTimes.realInstant($1))
      }
      let group: @convention(c) (OpaquePointer, UInt64) -> Int = {
        dispatch_group_wait($0, DispatchTimes.realInstant($1))
      }
      let item: ItemWait = {
        DispatchCalls.originalItemWait($0, DispatchTimes.realInstant($1))
      }
      return [
        ("dispatch_semaphore_wait", unsafeBitCast(semaphore, to: UnsafeRawPointer.self)),
        ("dispatch_group_wait", unsafeBitCast(group, to: UnsafeRawPointer.self)),
        ("dispatch_block_wait", unsafeBitCast(item, to: UnsafeRawPointer.self)),
      ]
    }
  }
#endif
