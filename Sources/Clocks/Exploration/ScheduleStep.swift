/// One step of a test: what happens between two decisions about what comes first.
///
/// A step is named by its task and a number that does not depend on the order in which tasks run, so
/// that it has the same name in every run. A task is named by its place in a `TaskTree`.
struct ScheduleStep: Hashable, Sendable {
  /// What a step is.
  enum Kind: UInt64 {
    /// A job of the task's own: the numberth.
    case job = 0
    /// The queue of an actor is run, into which the task has gone after its numberth job.
    case drain = 1
    /// The numberth sleep of the task wakes.
    case wake = 2
    /// A job of the runtime's, which the task has set going after its numberth job; that of a yield is
    /// one.
    case other = 3
  }

  /// The task, the number, the part and the kind, from the highest bits to the lowest.
  let bits: UInt64

  /// - Parameters:
  ///   - task: The index of the task in the tree.
  ///   - part: Which it is of several steps of the same number.
  init(_ kind: Kind, of task: Int, _ number: Int, part: Int = 1) {
    bits =
      UInt64(truncatingIfNeeded: task) << 40 | UInt64(truncatingIfNeeded: number & 0xFF_FFFF) << 16
      | UInt64(truncatingIfNeeded: part & 0xFFF) << 4 | kind.rawValue
  }

  var task: Int { Int(bits >> 40) }
  var number: Int { Int(bits >> 16 & 0xFF_FFFF) }
  var part: Int { Int(bits >> 4 & 0xFFF) }
  var kind: Kind { Kind(rawValue: bits & 3) ?? .other }

  /// Whether nothing but time moves: the task's job comes later.
  var isWake: Bool { bits & 3 == Kind.wake.rawValue }
  var isOther: Bool { bits & 3 == Kind.other.rawValue }
}

/// An ordering constraint: one step comes before another, which without it would come first.
struct Constraint: Hashable, Sendable {
  var first: ScheduleStep
  var second: ScheduleStep
}
