import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  /// The blocks that begin when a group is empty, or when a work item has run.
  ///
  /// A block does not count until then, because the group or item may itself wait for time to move.
  enum Notifications {
    /// Guards `waiting`, and the numbers of its blocks. Rank `dispatchNotifications`.
    ///
    /// The locks of owners and of `UnownedBlock` are taken under it, and no user code runs.
    private static let lock = Lock(.dispatchNotifications)
    /// The blocks that wait for each group that is not empty, and for each work item that has not run yet.
    nonisolated(unsafe) private static var waiting: [OpaquePointer: [DispatchedBlock]] = [:]
    {
      didSet { any.store(!waiting.isEmpty, ordering: .relaxed) }
    }
    private static let any = Atomic(false)

    /// Whether a block waits that counts as soon as it can begin.
    static var areWaiting: Bool { any.load(ordering: .relaxed) }

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

    /// Counts the blocks that begin now, because their group is empty or their item has run. Submits those
    /// that keep their order with jobs of the main actor.
    private static func beginAll(for object: OpaquePointer) {
      for work in waiting.removeValue(forKey: object) ?? [] {
        if work.keepsOrder { work.submit() } else { work.begin() }
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

    /// Lets Dispatch run a block when its group is empty, or its item has run.
    ///
    /// A block that keeps its order with jobs of the main actor is submitted then, unless it was submitted before.
    private static func register(
      _ work: DispatchedBlock, by notify: (OpaquePointer, UnsafeRawPointer) -> Void
    ) {
      guard work.keepsOrder else { return work.submit { notify(work.queue, $0) } }
      // Dispatch would submit the block before earlier ones, which wait for jobs of the main actor. And later jobs
      // would begin before the block.
      let queue = InternalDispatch.globalQueue(.utility, isBlocked: true)
      let submission = { submit(work) }
      HandedBlock.withBlock(submission) { notify(queue, $0) }
    }

    /// Submits a block whose group is empty, or whose item has run, unless it counts already.
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

    /// Counts a block that begins now, and removes it from `waiting` if the end of its wait was not seen.
    static func begin(_ work: DispatchedBlock) {
      lock.withLock {
        // A block that counts does not wait any more.
        if !work.isCounted { remove(work) }
        work.begin()
      }
    }

    /// O(blocks that wait)
    private static func remove(_ work: DispatchedBlock) {
      for (object, blocks) in waiting where blocks.contains(where: { $0 === work }) {
        waiting[object] = blocks.count == 1 ? nil : blocks.filter { $0 !== work }
      }
    }
  }
#endif
