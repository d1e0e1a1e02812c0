import ClocksSupport

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch

  /// Work that is to begin when a group is empty, or a work item has run.
  ///
  /// Until then it does not count: what it waits for may itself wait for time to move.
  enum Notifications {
    /// Guards what follows, and the numbers of such work. Owners' locks are taken under it, and no user
    /// code is called.
    private static let lock = Lock(.dispatchNotifications)
    /// What waits for each group that is not empty.
    @exclusivity(unchecked) nonisolated(unsafe) private static var ofGroups:
      [OpaquePointer: [DispatchedBlock]] = [:]
    /// What waits for each work item that has not been handed to a queue.
    @exclusivity(unchecked) nonisolated(unsafe) private static var ofItems:
      [UnsafeRawPointer: [DispatchedBlock]] = [:]
    /// How often each item is on a queue.
    @exclusivity(unchecked) nonisolated(unsafe) private static var handedItems:
      [UnsafeRawPointer: Int] = [:]

    // MARK: Groups

    /// Has work begin when a group is empty.
    static func add(_ work: DispatchedBlock, on queue: OpaquePointer, to group: OpaquePointer) {
      lock.withLock {
        ofGroups[group, default: []].append(work)
        dispatch_group_notify_f(group, queue, Unmanaged.passRetained(work).toOpaque()) {
          DispatchedBlock.run($0)
        }
        countIfEmpty(group)
      }
    }

    /// Leaves a group.
    static func leave(_ group: OpaquePointer) {
      lock.withLock {
        dispatch_group_leave(group)
        countIfEmpty(group)
      }
    }

    private static func countIfEmpty(_ group: OpaquePointer) {
      guard ofGroups[group] != nil, dispatch_group_wait(group, 0) == 0 else { return }
      for work in ofGroups.removeValue(forKey: group) ?? [] { work.countNotification() }
    }

    // MARK: Work items

    private typealias Notify =
      @convention(c) (UnsafeRawPointer, OpaquePointer, UnsafeRawPointer) -> Void

    /// Has work begin when a work item has run.
    static func add(_ work: DispatchedBlock, on queue: OpaquePointer, toItem item: UnsafeRawPointer)
    {
      lock.withLock {
        if HandedBlock(item).hasRun || handedItems[item] != nil {
          work.countNotification()
        } else {
          ofItems[item, default: []].append(work)
        }
      }
      let block = HandedBlock { work.run() }
      notify(item, queue, block.pointer)
      block.release()
    }

    private static let notify = unsafeBitCast(
      RuntimeHooks.symbol("dispatch_block_notify"), to: Notify.self)

    /// Notes that a work item is on a queue.
    static func itemIsHandedOver(_ item: UnsafeRawPointer) {
      lock.withLock {
        handedItems[item, default: 0] += 1
        for work in ofItems.removeValue(forKey: item) ?? [] { work.countNotification() }
      }
    }

    /// Notes that it has run.
    static func itemHasRun(_ item: UnsafeRawPointer) {
      lock.withLock {
        let count = (handedItems[item] ?? 1) - 1
        handedItems[item] = count == 0 ? nil : count
      }
    }

    // MARK: Their beginning

    /// Sees to it that work counts that begins now.
    static func begins(_ work: DispatchedBlock) {
      lock.withLock {
        // It begins without our having seen why.
        for (group, waiting) in ofGroups { forget(work, waiting) { ofGroups[group] = $0 } }
        for (item, waiting) in ofItems { forget(work, waiting) { ofItems[item] = $0 } }
        work.countNotification()
      }
    }

    private static func forget(
      _ work: DispatchedBlock, _ waiting: [DispatchedBlock], _ store: ([DispatchedBlock]?) -> Void
    ) {
      guard let place = waiting.firstIndex(where: { $0 === work }) else { return }
      var rest = waiting
      rest.remove(at: place)
      store(rest.isEmpty ? nil : rest)
    }
  }

  extension DispatchedBlock {
    /// Counts from now on; to be called under the lock.
    fileprivate func countNotification() {
      if number == 0 { number = owner.workBegan(on: queueName) }
    }
  }
#endif
