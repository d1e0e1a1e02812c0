import ClocksSupport
import Synchronization

/// The time of a virtual clock, and the offset of its scope's date, as a signal handler can read them without a lock.
///
/// They are published when time jumps in a suite that was not written for virtual time, and with each reading. Until
/// then they may be late. They are rounded down to nanoseconds, and at most 292 years.
struct PublishedTime: ~Copyable {
  private let nanoseconds = Atomic(0)
  private let nanosecondsOfDate = Atomic(0)

  /// Requires the scheduler's lock.
  func note(_ time: Duration) { nanoseconds.store(Self.nanoseconds(in: time), ordering: .relaxed) }

  /// Requires the scheduler's lock.
  func note(dateOffset: Duration) {
    nanosecondsOfDate.store(Self.nanoseconds(in: dateOffset), ordering: .relaxed)
  }

  func time(ofDate isDate: Bool) -> Duration {
    let time = Duration.nanoseconds(nanoseconds.load(ordering: .relaxed))
    return isDate
      ? saturatingSum(time, .nanoseconds(nanosecondsOfDate.load(ordering: .relaxed))) : time
  }

  private static func nanoseconds(in duration: Duration) -> Int {
    #if canImport(CRT) || canImport(WASILibc)
      // No signal handler reads a virtual clock on this platform.
      0
    #else
      timespec().advanced(by: duration).nanoseconds
    #endif
  }
}
