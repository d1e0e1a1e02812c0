/// The deadline under which the current code runs.
///
/// What is set by ``withDeadline(_:tolerance:clock:name:operation:)`` and its kin, and by a
/// ``TimeoutTask`` for its work, can be asked for, however many calls away. It is what a client
/// sends to a server along with a request, and how code finds out that it need not begin at all:
///
/// ```swift
/// if let remaining = Deadline.remaining() { request.timeout = remaining }
/// ```
///
/// ## Who is under a deadline
///
/// The operation and its child tasks, which the deadline cancels. An unstructured task is not, even
/// if it was started there, because no deadline cancels it; see `Task.inheritingDeadline`.
public enum Deadline {
  /// The instant at which the current task is cancelled: the earliest of the deadlines around it
  /// that are measured by `clock`.
  ///
  /// It may have passed already. Deadlines on other clocks are not converted: instants of different
  /// clocks cannot be compared. Clocks are the same if they are of one type and, being
  /// `Identifiable`, have equal ids; the system's clocks of one type are the same.
  ///
  /// - Parameter clock: The clock of which the instant is to be.
  /// - Returns: The instant, or `nil` if no deadline on that clock cancels the current task.
  /// - Complexity: O(d) for d deadlines around the caller.
  public static func current<C: Clock>(on clock: C = ContinuousClock()) -> C.Instant? {
    ActiveDeadline.current?.nearest(on: clock)
  }

  /// The time that is left until the current task is cancelled; zero if the deadline has passed.
  ///
  /// - Parameter clock: The clock that measures.
  /// - Returns: The time, or `nil` if no deadline on that clock cancels the current task.
  /// - Complexity: O(d) for d deadlines around the caller.
  public static func remaining<C: Clock>(on clock: C = ContinuousClock()) -> C.Duration? {
    current(on: clock).map { max(.zero, clock.now.duration(to: $0)) }
  }
}
