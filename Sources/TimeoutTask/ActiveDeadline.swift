import Synchronization

/// The deadline under which the current code runs.
///
/// ``withDeadline(_:tolerance:clock:name:operation:)`` and its variants set a deadline for their
/// operation, and a ``TimeoutTask`` sets one for its work. Code in the operation or the work can
/// read the deadline. A client can send it to a server along with a request, and a function can
/// avoid work that would end too late.
///
/// ```swift
/// if let remaining = Deadline.remaining() { request.timeout = remaining }
/// ```
///
/// ## Which tasks have a deadline
///
/// The operation and its child tasks have the deadline, and are cancelled by it. An unstructured
/// task has no deadline, even if the operation starts it, because no deadline cancels such a task.
/// `Task.inheritingDeadline` starts an unstructured task that has the deadline.
public enum Deadline {
  /// Returns the instant at which the current task is cancelled: the earliest of its deadlines on
  /// `clock`.
  ///
  /// The instant may have passed. Deadlines on other clocks are ignored: instants of different
  /// clocks cannot be compared. Two clocks are the same if they have one type, and are
  /// `Identifiable` with equal ids. Two `ContinuousClock`s are the same, and so are two
  /// `SuspendingClock`s.
  ///
  /// - Parameter clock: The clock whose deadlines count.
  /// - Returns: The instant, or `nil` if no deadline on that clock cancels the current task.
  /// - Complexity: O(d) for d deadlines around the caller.
  public static func current<C: Clock>(on clock: C = ContinuousClock()) -> C.Instant? {
    ActiveDeadline.current?.nearest(on: clock)
  }

  /// Returns the time until the current task is cancelled; zero if the deadline has passed.
  ///
  /// - Parameter clock: The clock whose deadlines count.
  /// - Returns: The time, or `nil` if no deadline on that clock cancels the current task.
  /// - Complexity: O(d) for d deadlines around the caller.
  public static func remaining<C: Clock>(on clock: C = ContinuousClock()) -> C.Duration? {
    current(on: clock).map { max(.zero, clock.now.duration(to: $0)) }
  }
}

/// A deadline under which some code runs, and the deadlines around it.
///
/// A task-local value holds the innermost deadline. `Deadline` reads that value. A new deadline
/// also reads it, to find out whether it needs a timer.
///
/// Child tasks inherit a task-local value, and the deadline cancels them with their parent. Unstructured
/// tasks inherit it too, but no deadline cancels them. The address of the value tells the two kinds of task
/// apart: a child task reads its parent's value, and an unstructured task has a copy.
class ActiveDeadline: @unchecked Sendable {
  @TaskLocal private static var innermost: ActiveDeadline?

  /// The deadline around this one, if it cancels the code that runs under this one.
  let outer: ActiveDeadline?

  /// The address of the task-local value that holds this deadline. Written before the code begins;
  /// compared, but never dereferenced.
  private var place: UnsafeRawPointer?

  /// Whether the code has ended. From then on, the memory at `place` may hold another task-local value.
  private let hasEnded = Atomic(false)

  init(inside outer: ActiveDeadline?) {
    self.outer = outer
  }

  /// Whether this deadline or one around it has passed, and so has cancelled the code. O(d) for d deadlines.
  var hasPassed: Bool { outer?.hasPassed ?? false }

  /// The innermost deadline that is certain to cancel the current task when it passes.
  static var current: ActiveDeadline? {
    guard let innermost, innermost.governs(placeOfInnermost) else { return nil }
    return innermost
  }

  /// Returns whether the deadline is certain to cancel a task whose task-local value is at `place`.
  ///
  /// Returns `false` if `place` is `nil`, because the task then has no such value.
  func governs(_ place: UnsafeRawPointer?) -> Bool {
    place != nil && !hasEnded.load(ordering: .acquiring) && place == self.place
  }

  /// Runs code under this deadline.
  func governing(
    isolation: isolated (any Actor)? = #isolation, operation: () async -> Void
  ) async {
    await Self.$innermost.withValue(self) {
      // A closure that captures its context's isolated parameter is isolated to it.
      _ = isolation
      place = Self.placeOfInnermost
      await operation()
      // `hasEnded` is set before the runtime frees the memory of the task-local value.
      hasEnded.store(true, ordering: .releasing)
    }
  }

  /// Runs code under a deadline, if there is one.
  static func governing(
    _ deadline: ActiveDeadline?,
    isolation: isolated (any Actor)? = #isolation, operation: () async -> Void
  ) async {
    if let deadline { await deadline.governing(operation: operation) } else { await operation() }
  }

  /// The address of the current task's value of `innermost`.
  static var placeOfInnermost: UnsafeRawPointer? {
    taskLocalValue(of: Unmanaged.passUnretained($innermost).toOpaque())
  }

  // MARK: - On a clock

  /// The deadline's clock, and the instant to which the deadline is set now. Subclasses override this property.
  var onClock: (any AnyDeadlineOnClock)? { nil }

  /// Returns the earliest deadline on a clock: this one or one around it. O(d) for d nested
  /// deadlines.
  func nearest<C: Clock>(on clock: C) -> C.Instant? {
    sequence(first: self, next: { $0.outer })
      .compactMap { $0.onClock?.reading(on: clock)?.instant }.min()
  }

  /// Returns whether this deadline, or an outer one, is certain to pass before a new, inner one.
  ///
  /// A deadline passes between its instant and its instant plus its tolerance. If the result is
  /// `true`, the inner deadline needs no timer.
  ///
  /// O(d) for d nested deadlines.
  func covers<C: Clock>(_ instant: C.Instant, tolerance: C.Duration?, on clock: C) -> Bool {
    sequence(first: self, next: { $0.outer }).contains { outer in
      guard let deadline = outer.onClock?.reading(on: clock), !deadline.isMovable,
        let earlier = deadline.instant, earlier <= instant
      else { return false }
      // Each of the two deadlines may be late by its tolerance. The sum of an instant and a
      // tolerance could overflow, so durations are compared.
      let lateness = deadline.tolerance ?? .zero
      return lateness <= tolerance ?? .zero || lateness <= earlier.duration(to: instant)
    }
  }
}

/// The deadline of a `TimeoutTask`. It has no timer: the `TimeoutTask` has the timer itself.
final class FixedDeadline: ActiveDeadline, @unchecked Sendable {
  enum Time: Sendable {
    /// Real time has its own case, because a generic type costs metadata look-ups at run time.
    case realTime(RealTimeLimit)
    case onClock(any AnyDeadlineOnClock)
  }

  private let time: Time

  init(_ time: Time) {
    self.time = time
    super.init(inside: nil)
  }

  override var onClock: (any AnyDeadlineOnClock)? {
    switch time {
    case .realTime(let limit): limit.onClock
    case .onClock(let deadline): deadline
    }
  }

  override var hasPassed: Bool { onClock?.hasPassed ?? false }
}

/// A deadline as an instant of a clock.
struct DeadlineOnClock<C: Clock>: AnyDeadlineOnClock {
  let clock: C

  /// When the deadline passes; `nil` if it never does.
  let instant: C.Instant?

  /// How much later than its instant the clock may let the deadline pass.
  let tolerance: C.Duration?

  /// Whether the instant may change.
  var isMovable = false

  var hasPassed: Bool { instant.map { $0 <= clock.now } ?? false }

  func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>? {
    guard let same = self as? DeadlineOnClock<Other> else { return nil }
    // SE-0526 makes the system's clocks identifiable. As of Swift 6.3 they are not, so their types are compared.
    if C.self == ContinuousClock.self || C.self == SuspendingClock.self { return same }
    guard let clock = clock as? any Identifiable else { return nil }
    return haveEqualIDs(clock, other) ? same : nil
  }

  nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    guard let instant else { return try await operation() }
    var name: String?
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { name = Task.name }
    return try await withDeadline(
      instant, tolerance: tolerance, clock: clock, name: name, operation: operation)
  }
}

private func haveEqualIDs<First: Identifiable>(_ first: First, _ second: Any) -> Bool {
  first.id == (second as? First)?.id
}

/// A `DeadlineOnClock` of any clock.
protocol AnyDeadlineOnClock: Sendable {
  /// Whether the clock's time is the deadline or later.
  var hasPassed: Bool { get }

  /// Returns the deadline if `other` is its clock, and `nil` otherwise.
  func reading<Other: Clock>(on other: Other) -> DeadlineOnClock<Other>?

  /// Runs an operation under the same deadline, in a task that the deadline does not govern yet.
  nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return
}

/// Returns the address of the current task's value for a task-local key, or `nil` if the task has none.
///
/// `TaskLocal` itself calls this function of the runtime, so every program that reads a task-local
/// value links the function.
@_silgen_name("swift_task_localValueGet")
private func taskLocalValue(of key: UnsafeRawPointer) -> UnsafeRawPointer?
