import Synchronization

/// A deadline under which the body of a `withDeadline` runs, and those around it.
///
/// A deadline that lies inside an earlier one on the same clock can do nothing and need not be set.
/// To know of the earlier one, a body carries its deadlines in a task-local value. A task-local
/// value, however, is copied into unstructured tasks as well, which no deadline cancels; a deadline
/// set there must be set. Hence the two questions that `current` asks: has the deadline ended, and
/// is this the very task that it cancels? Child tasks of the body get "no" for an answer although
/// they are cancelled with it: they set a deadline that was not needed, which is merely slower.
class ActiveDeadline: @unchecked Sendable {
  @TaskLocal private static var innermost: ActiveDeadline?

  /// The deadline around this one, if it governs this one's body as well.
  private let outer: ActiveDeadline?

  /// The task that runs the body. It is only ever compared, and only until `hasEnded`.
  private let task: UnsafeCurrentTask?

  private let hasEnded = Atomic(false)

  fileprivate init(inside outer: ActiveDeadline?, task: UnsafeCurrentTask?) {
    self.outer = outer
    self.task = task
  }

  /// The innermost deadline that is certain to cancel the current task when it passes.
  static var current: ActiveDeadline? {
    guard let innermost else { return nil }
    return withUnsafeCurrentTask { innermost.governs($0) } ? innermost : nil
  }

  /// Whether the deadline is certain to cancel `task` when it passes. When it has ended, another
  /// task may have the same address.
  func governs(_ task: UnsafeCurrentTask?) -> Bool {
    !hasEnded.load(ordering: .acquiring) && task == self.task
  }

  /// The nearest deadline on a clock, this one or one around it. O(d) for d nested deadlines.
  func expiration<C: Clock>(on clock: C) -> C.Instant? {
    var next: ActiveDeadline? = self
    while let deadline = next {
      if let same = deadline as? OnClock<C>, same.isMeasured(by: clock) { return same.expiration }
      next = deadline.outer
    }
    return nil
  }

  /// Runs the body of a deadline, in the task that the deadline cancels.
  static func withValue<C: Clock>(
    _ expiration: C.Instant, on clock: C, inside outer: ActiveDeadline?,
    isolation: isolated (any Actor)? = #isolation,
    operation: () async -> Void
  ) async {
    let deadline = withUnsafeCurrentTask {
      OnClock(expiration: expiration, clock: clock, inside: outer, task: $0)
    }
    await $innermost.withValue(deadline, operation: operation)
    deadline.hasEnded.store(true, ordering: .releasing)
  }

  private final class OnClock<C: Clock>: ActiveDeadline, @unchecked Sendable {
    let expiration: C.Instant
    let clock: C

    init(
      expiration: C.Instant, clock: C, inside outer: ActiveDeadline?, task: UnsafeCurrentTask?
    ) {
      self.expiration = expiration
      self.clock = clock
      super.init(inside: outer, task: task)
    }

    /// Whether instants of the other clock can be compared with ours.
    ///
    /// SE-0526 makes the system's clocks identifiable. They are not yet, but of each there is one.
    func isMeasured(by other: C) -> Bool {
      if C.self == ContinuousClock.self || C.self == SuspendingClock.self { return true }
      guard let clock = clock as? any Identifiable else { return false }
      return haveEqualIDs(clock, other)
    }
  }
}

private func haveEqualIDs<First: Identifiable>(_ first: First, _ second: Any) -> Bool {
  first.id == (second as? First)?.id
}
