import Synchronization

/// The owners that have tasks which are away: so that the end of a job costs no more than a look
/// at their number while there are none.
enum AwayOwners {
  private static let count = Atomic<Int>(0)
  /// Guards `owners`. Nothing is called while it is held.
  private static let lock = Lock()
  nonisolated(unsafe) private static var owners: [ObjectIdentifier: TaskOwner] = [:]

  /// Notes an owner. It looks at its tasks afterwards: either it finds then that a task has come back,
  /// or whoever brought that back finds the owner noted.
  static func add(_ owner: TaskOwner) {
    lock.withLock {
      owners[ObjectIdentifier(owner)] = owner
      count.store(owners.count, ordering: .sequentiallyConsistent)
    }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// Strikes an owner off; the caller keeps it alive.
  static func remove(_ owner: TaskOwner) {
    lock.withLock {
      owners[ObjectIdentifier(owner)] = nil
      count.store(owners.count, ordering: .sequentiallyConsistent)
    }
  }

  /// A job has ended on this thread in which a task may have run that was away: one of an actor's
  /// queue, or one that somebody's executor ran.
  @inline(__always)
  static func anotherJobHasEnded() {
    // What the job did to tasks comes before the look, on this thread and for all others.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    guard count.load(ordering: .relaxed) != 0 else { return }
    let owners = lock.withLock { Array(Self.owners.values) }
    for owner in owners { owner.lookAfterTasksAway() }
  }
}
