/// Work that is to begin at an instant of an owner's virtual time.
final class TimedCallback: Sendable {
  /// What it is called where pending sleeps are listed.
  let name: String
  /// Begins it, when the instant has come.
  let begin: @Sendable () -> Void
  /// Has it begin in real time, because virtual time is over; called with what was left of the delay.
  let handBack: @Sendable (Duration) -> Void

  init(
    _ name: String, begin: @escaping @Sendable () -> Void,
    handBack: @escaping @Sendable (Duration) -> Void
  ) {
    self.name = name
    self.begin = begin
    self.handBack = handBack
  }
}
