extension TaskOwnership {
  /// Whether the task is known to belong to an owner, or to none; `nil` if `mayGiveUp` and the lock is not available.
  func isKnown(_ id: UInt64, mayGiveUp: Bool) -> Bool? {
    lock.withLock(mayGiveUp: mayGiveUp) { owners[id] != nil || unowned.contains(id) }
  }

  /// The task's owner, or else the process-wide owner if it is awake. O(1).
  ///
  /// - Parameter running: The owner for which the task's thread runs. An unknown task that is newer than this owner
  ///   belongs to it. An older task may belong to another test, and run here in an actor drain.
  func owner(of id: UInt64, on running: TaskOwner? = nil) -> TaskOwner? {
    lock.withLock { lookUp(id, running) }
  }

  /// Like `owner(of:on:)`; returns `running` if the lock is not available. A signal handler may call this.
  func ownerIfAvailable(of id: UInt64, on running: TaskOwner?) -> TaskOwner? {
    lock.withLockIfAvailable { lookUp(id, running) } ?? running
  }

  /// Requires the lock.
  private func lookUp(_ id: UInt64, _ running: TaskOwner?) -> TaskOwner? {
    if let owner = owners[id] { return owner }
    if let running, !unowned.contains(id),
      !running.registration.exists || id > running.registration.watermark
    {
      return running
    }
    return processWide?.ownerIfAwake
  }
}
