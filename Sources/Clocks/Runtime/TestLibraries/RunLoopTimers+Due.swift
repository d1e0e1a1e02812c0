import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  // Timers whose instants have come, and the threads that let them fire.
  extension RunLoopTimers {
    /// Notes that a timer is due.
    ///
    /// - Parameter isOverdue: Whether no thread of the owner is in a run loop.
    static func noteDue(
      _ timer: CInt, on thread: Int32, of owner: any PausableOwner, isOverdue: Bool
    ) {
      lock.withLock {
        var known = knownFirings(of: owner)
        // A weak reference makes reference counting slower, so only an owner with a timer has one.
        known.owner = owner
        known.count += 1
        due[timer] = (thread, ObjectIdentifier(owner))
        if isOverdue { known.isOverdue = true }
        firings[ObjectIdentifier(owner)] = known
      }
    }

    /// Whether the owner has a due timer of which no thread was notified. Called by a thread of the owner that is about
    /// to run its run loop.
    static func takeOverdue(of owner: any PausableOwner) -> Bool {
      awaitBeginning()
      return lock.withLock {
        let isOverdue = knownFirings(of: owner).isOverdue
        if isOverdue { firings[ObjectIdentifier(owner)]?.isOverdue = false }
        return isOverdue
      }
    }

    /// Whether a timer of the current thread's run loop is due, and the kernel's timer is set to fire.
    static func isAnyDue(
      _ dueInstant: borrowing Atomic<UInt64>, of owner: any PausableOwner
    ) -> Bool {
      awaitBeginning()
      return dueInstant.load(ordering: .sequentiallyConsistent) > 0 || firings(of: owner).isOverdue
    }

    /// Runs the current thread's run loop until the timers that are due have fired. `run` handles one event.
    ///
    /// A timer of another thread or mode stays ready, so the number of runs is limited. The kernel may let a timer
    /// expire a moment after it was set to the present: the thread waits for its own timers.
    static func fire(for owner: any PausableOwner, _ run: (Double) -> Int32) {
      let thread = OutsideWork.currentThread
      var events = 0
      while events < mostEvents {
        _ = run(0)
        let waiting = lock.withLock { due.filter { $0.value.owner == ObjectIdentifier(owner) } }
        if waiting.keys.contains(where: { expires($0, within: 0) }) {
          events += 1
        } else {
          guard let own = waiting.first(where: { $0.value.thread == thread })?.key else { return }
          if !expires(own, within: 20) { lock.withLock { due[own] = nil } }
        }
      }
    }

    private static func expires(_ timer: CInt, within milliseconds: CInt) -> Bool {
      var file = pollfd(fd: timer, events: Int16(POLLIN), revents: 0)
      return poll(&file, 1, milliseconds) == 1
    }

    private static let mostEvents = 16
  }
#endif
