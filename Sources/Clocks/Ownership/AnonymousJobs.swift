/// The jobs of the process that are no task's, while they run: those of actors' queues.
///
/// In such a job a task may come to its end that belongs to anybody. Its status says so a moment
/// before it resumes whoever waits for it, so what the status says holds only when every such job has
/// ended that was running when it was read.
enum AnonymousJobs {
  /// Guards what follows. Nothing is called while it is held.
  private static let lock = Lock()
  nonisolated(unsafe) private static var running: [UInt64] = []
  nonisolated(unsafe) private static var next: UInt64 = 1

  /// One begins; the number is for `end`. O(1).
  static func begin() -> UInt64 {
    lock.withLock {
      defer { next += 1 }
      running.append(next)
      return next
    }
  }

  /// One has ended. O(those that run).
  static func end(_ number: UInt64) {
    lock.withLock {
      if let place = running.firstIndex(of: number) { running.remove(at: place) }
    }
  }

  /// A number greater than those of all that have begun so far.
  static var nextNumber: UInt64 { lock.withLock { next } }

  /// The least number of one that runs; the greatest number there is if none does.
  static var firstRunning: UInt64 { lock.withLock { running.first ?? .max } }
}
