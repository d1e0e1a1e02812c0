/// How much a test clock can know about the tasks of its test.
///
/// It depends on what the Swift runtime lets a package see. ``current`` says where this process
/// stands, and ``selfTest`` how that was found out.
public enum SchedulerCapability: Int, Sendable, Comparable, CaseIterable {
  /// Nothing can be seen: sleeps wake in order, but `advance` returns without waiting for what they
  /// set going.
  case patience = 0
  /// Jobs of the default executor are seen, but not everything: ``missing`` says what is not.
  ///
  /// The promise holds for tests that do not use what is missing.
  case enqueueHook = 1
  /// Every job of the default executor and of the main actor is seen: the promise holds without
  /// exception.
  case executors = 2

  public static func < (lhs: SchedulerCapability, rhs: SchedulerCapability) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

extension SchedulerCapability {
  /// The highest rung that this process may take.
  static var highestAllowed: SchedulerCapability {
    allCases.first { "\($0)" == Environment.highestCapability } ?? .executors
  }
}

@available(*, deprecated, renamed: "SchedulerCapability")
public typealias SchedulingRung = SchedulerCapability
