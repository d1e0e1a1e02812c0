import Dispatch

/// Real time, whatever the clocks say.
///
/// In a test, the clocks of the standard library may read virtual time; Dispatch's does not.
enum RealTime {
  /// How long the machine has been running.
  static var now: Duration { .nanoseconds(Int64(DispatchTime.now().uptimeNanoseconds)) }
}
