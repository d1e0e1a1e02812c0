import ClocksSupport

/// What has happened in a test, and since when nothing has: what the watchdog asks.
struct ProgressTracker {
  /// A state of affairs that the watchdog has found, and how long it may last.
  private struct Watched {
    /// The number that was the last one when it was found: if it still is, nothing has changed.
    var number: UInt64
    let since = RealTime(in: .zero)
    /// How often the limit may pass without a word, because the machine or another test is busy.
    var patience = 3
    var isReported = false
  }

  /// Counts the jobs that have begun and the visitors that have left: while it stays the same,
  /// nothing happens in the test.
  private(set) var count: UInt64 = 0
  /// The job that runs, by its number and its task.
  private(set) var running: (number: UInt64, task: UInt64)?
  /// For how long there has been something to run and no thread yet, in sum.
  private(set) var nanosecondsWithoutThread: UInt64 = 0
  /// The job that ran when the watchdog last looked, while others waited for it.
  private var blockage: Watched?
  /// The rest that the watchdog found when it last looked, with sleeps pending.
  private var rest: Watched?
  /// The tasks that were away when the watchdog last looked.
  private var absence: Watched?

  /// Notes that a job is about to run.
  @inline(__always)
  mutating func jobBegins(of task: UInt64) {
    count &+= 1
    running = (count, task)
  }

  /// Notes that the job has ended.
  @inline(__always)
  mutating func jobHasEnded() { running = nil }

  mutating func externallyStartedJobEnded() { count &+= 1 }

  mutating func waitedForThread(nanoseconds: UInt64) { nanosecondsWithoutThread &+= nanoseconds }

  /// The job that runs, by its number and its task; the task is 0 if it is not known.
  ///
  /// A job that the scheduler did not start has no number of its own; there is rarely more than one.
  private func running(_ idleness: borrowing Idleness) -> (number: UInt64, task: UInt64)? {
    running ?? (idleness.externallyStartedJobs > 0 ? (.max - count, 0) : nil)
  }

  /// Whether a job still runs.
  func isRunning(_ number: UInt64, _ idleness: borrowing Idleness) -> Bool {
    running(idleness)?.number == number
  }

  /// The job that has held its thread for longer than `limit` while others wait for it, if that was
  /// not reported yet. To be asked again and again. O(1).
  mutating func findBlockage(
    after limit: Duration, _ idleness: borrowing Idleness, othersWait: Bool
  ) -> (number: UInt64, task: UInt64)? {
    guard othersWait, let running = running(idleness) else {
      blockage = nil
      return nil
    }
    return Self.isDue(&blockage, running.number, after: limit) ? running : nil
  }

  /// Whether tasks have been away for longer than `limit` without one of them having come back, and
  /// that was not reported yet. To be asked again and again. O(1).
  ///
  /// - Parameters:
  ///   - changes: Counts the tasks that went away and came back; `nil` if none is away.
  ///   - isAnyRunning: Whether another test has something to run. The task may stand in the queue of an
  ///     actor that is that test's to run, so it is waited for.
  mutating func findAbsence(after limit: Duration, changes: UInt64?, isAnyRunning: Bool) -> Bool {
    guard let changes, !isAnyRunning else {
      absence = nil
      return false
    }
    return Self.isDue(&absence, changes, after: limit)
  }

  /// Whether nothing has happened in the test for longer than `limit`, although tasks sleep, and that
  /// was not reported yet. To be asked again and again. O(1).
  ///
  /// - Parameters:
  ///   - isWaiting: Whether the test is at rest, and tasks sleep on a clock of it.
  ///   - isAnyBusy: Whether another test has something to run. This one may wait for it, for an
  ///     actor that both use, so it gets more time.
  mutating func findStandstill(after limit: Duration, isWaiting: Bool, isAnyBusy: Bool) -> Bool {
    guard isWaiting else {
      rest = nil
      return false
    }
    return Self.isDue(&rest, count, after: limit, isPatient: isAnyBusy)
  }

  /// Whether what is watched has been so for longer than `limit`, for the first time.
  ///
  /// - Parameter isPatient: Whether the limit begins anew, if that has not happened too often.
  private static func isDue(
    _ watched: inout Watched?, _ number: UInt64, after limit: Duration, isPatient: Bool = false
  ) -> Bool {
    guard let found = watched, found.number == number else {
      watched = Watched(number: number)
      return false
    }
    guard !found.isReported, found.since.lasts(limit) else { return false }
    if isPatient, found.patience > 0 {
      watched = Watched(number: number, patience: found.patience - 1)
      return false
    }
    watched?.isReported = true
    return true
  }
}
