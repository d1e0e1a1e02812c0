import ClocksSupport

/// Work that is to begin at an instant of an owner's virtual time.
final class TimedCallback: Sendable {
  /// The name in lists of pending sleeps.
  let name: String
  /// Whether the work runs on a dispatch queue: a delayed block of the test, or a handler of its timer.
  let isDelayedBlock: Bool
  /// The date for which the work waits, as the time since 1970; `nil` if it waits for a duration.
  ///
  /// If the owner's date is changed, the work begins earlier or later.
  let date: Duration?
  let begin: @Sendable () -> Void
  /// Starts the work in real time, because virtual time is over. The argument is the rest of the delay.
  let handBack: @Sendable (Duration) -> Void

  init(
    _ name: String, isDelayedBlock: Bool = false, date: Duration? = nil,
    begin: @escaping @Sendable () -> Void, handBack: @escaping @Sendable (Duration) -> Void
  ) {
    self.name = name
    self.isDelayedBlock = isDelayedBlock
    self.date = date
    self.begin = begin
    self.handBack = handBack
  }

  /// Work that does the same in virtual and in real time.
  convenience init(_ name: String, _ work: @escaping @Sendable () -> Void) {
    self.init(name, begin: work) { RealTime(in: $0).schedule(work) }
  }
}
