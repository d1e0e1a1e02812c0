import Synchronization

/// A deadline under which some code runs, and those around it.
///
/// Code carries its innermost deadline in a task-local value. Two questions are answered from it:
/// how much time is left, and whether a further deadline has to be set at all.
///
/// A task-local value is inherited by child tasks, which are cancelled with the code that started
/// them. It is copied into unstructured tasks as well, which no deadline cancels. The two are told
/// apart by the place where the value is kept: a child task reads its parent's, a copy has a place
/// of its own.
class ActiveDeadline: @unchecked Sendable {
  @TaskLocal private static var innermost: ActiveDeadline?

  /// The deadline around this one, if it governs the same code.
  let outer: ActiveDeadline?

  /// Where the task-local value is kept that holds this deadline. Written before the code begins,
  /// and only ever compared.
  private var place: UnsafeRawPointer?

  /// Whether the code has ended. Afterwards the place may be used for another value.
  private let hasEnded = Atomic(false)

  init(inside outer: ActiveDeadline?) {
    self.outer = outer
  }

  /// The innermost deadline that is certain to cancel the current task when it passes.
  static var current: ActiveDeadline? {
    guard let innermost, innermost.governs(placeOfInnermost) else { return nil }
    return innermost
  }

  /// Whether the deadline is certain to cancel a task whose task-local value is kept at `place`.
  ///
  /// Nothing is certain if the runtime does not say where: then no deadline is taken for granted.
  func governs(_ place: UnsafeRawPointer?) -> Bool {
    place != nil && !hasEnded.load(ordering: .acquiring) && place == self.place
  }

  /// Runs code under this deadline.
  func governing(
    isolation: isolated (any Actor)? = #isolation, operation: () async -> Void
  ) async {
    await Self.$innermost.withValue(self) {
      // A closure is isolated as its surroundings are if it captures their isolated parameter.
      _ = isolation
      place = Self.placeOfInnermost
      await operation()
      // Before the place is given back.
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

  /// Where the current task's value of `innermost` is kept.
  static var placeOfInnermost: UnsafeRawPointer? {
    taskLocalValue(of: Unmanaged.passUnretained($innermost).toOpaque())
  }

  // MARK: - On a clock

  /// The nearest deadline on a clock, this one or one around it. O(d) for d nested deadlines.
  func nearest<C: Clock>(on clock: C) -> C.Instant? {
    var nearest: C.Instant?
    forEach(on: clock) { deadline in
      guard let instant = deadline.instant else { return }
      nearest = nearest.map { min($0, instant) } ?? instant
    }
    return nearest
  }

  /// Whether this deadline, or one around it, makes a further one useless, because it is certain to
  /// pass before that one has to. O(d) for d nested deadlines.
  func covers<C: Clock>(_ instant: C.Instant, tolerance: C.Duration?, on clock: C) -> Bool {
    var isCovered = false
    forEach(on: clock) { deadline in
      guard !deadline.isMovable, let earlier = deadline.instant, earlier <= instant else { return }
      // Both may be late by their tolerance. No sum is made here: it might be too large.
      let lateness = deadline.tolerance ?? .zero
      if lateness <= tolerance ?? .zero || lateness <= earlier.duration(to: instant) {
        isCovered = true
      }
    }
    return isCovered
  }

  private func forEach<C: Clock>(on clock: C, _ body: (DeadlineOnClock<C>) -> Void) {
    var next: ActiveDeadline? = self
    while let deadline = next {
      if let same = deadline.reading(on: clock) { body(same) }
      next = deadline.outer
    }
  }

  /// The deadline as an instant of a clock, if that is the one which measures it.
  func reading<C: Clock>(on clock: C) -> DeadlineOnClock<C>? { nil }

  /// Runs an operation under the same deadline, in a task that the deadline does not govern.
  nonisolated(nonsending) func reapply<Return>(
    _ operation: nonisolated(nonsending) () async throws -> Return
  ) async throws -> Return {
    try await operation()
  }
}

/// The place where the runtime keeps a task-local value, or `nil` if it has none.
///
/// This is the entry of the runtime by which `TaskLocal` reads its values, so every program that has
/// such a value is linked against it. What it returns is compared, and never read.
@_silgen_name("swift_task_localValueGet")
private func taskLocalValue(of key: UnsafeRawPointer) -> UnsafeRawPointer?
