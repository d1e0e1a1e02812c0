import Dispatch

/// An instant of real time, which stays real inside a scope of virtual time.
///
/// The Swift runtime's clocks may be virtual there; Dispatch's never are.
struct RealTime: Comparable, Sendable {
  private let instant: DispatchTime

  /// The instant that is `duration` from now. O(1).
  init(in duration: Duration) {
    instant = .now() + duration.dispatchInterval
  }

  static func < (lhs: Self, rhs: Self) -> Bool { lhs.instant < rhs.instant }

  var hasPassed: Bool { .now() >= instant }

  /// Whether the instant has passed, if `extra` nanoseconds more are given.
  func hasPassed(by extra: UInt64) -> Bool {
    hasPassed && nanosecondsSince >= extra
  }

  /// The real time since the instant, in nanoseconds; 0 before it.
  var nanosecondsSince: UInt64 {
    let now = DispatchTime.now().uptimeNanoseconds
    return now > instant.uptimeNanoseconds ? now - instant.uptimeNanoseconds : 0
  }

  /// Whether at least `duration` has passed since the instant.
  func lasts(_ duration: Duration) -> Bool { .now() >= instant + duration.dispatchInterval }

  /// Runs `body` on a thread of the pool when the instant has come.
  func schedule(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: instant, execute: body)
  }
}

extension Duration {
  /// The interval in whole nanoseconds; a very long one lasts for ever.
  fileprivate var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow, seconds < 1_000_000_000 else { return .never }
    return .nanoseconds(max(0, Int(product + attoseconds / 1_000_000_000)))
  }
}
