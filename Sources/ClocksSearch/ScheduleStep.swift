/// One step of a test: what runs between two decisions.
///
/// A step is named by its task and by a number that does not depend on the order in which tasks run.
/// So it has the same name in every run.
package struct ScheduleStep: Hashable, BitwiseCopyable, Sendable {
  package enum Kind: UInt64 {
    /// The job of the task that has this number.
    case job = 0
    /// A drain of the actor in whose queue the task stands after its job of this number.
    case drain = 1
    /// The end of the sleep of the task that has this number.
    case wake = 2
    /// A job of the runtime that the task caused after its job of this number, such as that of a yield.
    case other = 3
  }

  /// The task, the number, the part and the kind, from the highest bits to the lowest.
  package let bits: UInt64

  /// - Parameters:
  ///   - task: The index of the task in the `TaskTree`.
  ///   - part: Tells several steps of one number apart.
  package init(_ kind: Kind, of task: Int, _ number: Int, part: Int = 1) {
    bits =
      UInt64(truncatingIfNeeded: task) << 40 | UInt64(truncatingIfNeeded: number & 0xFF_FFFF) << 16
      | UInt64(truncatingIfNeeded: part & 0xFFF) << 4 | kind.rawValue
  }

  package var task: Int { Int(bits >> 40) }
  package var number: Int { Int(bits >> 16 & 0xFF_FFFF) }
  package var part: Int { Int(bits >> 4 & 0xFFF) }
  package var kind: Kind { Kind(rawValue: bits & 3) ?? .other }

  /// Whether only time moves: the job of the task comes later.
  package var isWake: Bool { bits & 3 == Kind.wake.rawValue }
  package var isOther: Bool { bits & 3 == Kind.other.rawValue }
}

/// An ordering constraint: the first step comes before the second, which would come earlier without it.
package struct Constraint: Hashable, Sendable {
  package var first: ScheduleStep
  package var second: ScheduleStep

  package init(first: ScheduleStep, second: ScheduleStep) {
    self.first = first
    self.second = second
  }
}

/// Pseudorandom numbers that are the same in every process: SplitMix64.
package struct Mixer: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  @inline(__always)
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.scramble(state)
  }

  /// Returns a number below `limit`, which is positive. The distribution is very slightly uneven.
  @inline(__always)
  mutating func below(_ limit: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(limit)).high)
  }

  @inline(__always)
  package static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    scramble(hash &* 0x100_0000_01B3 ^ value)
  }

  package static func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  @inline(__always)
  private static func scramble(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ value &>> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value &>> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value &>> 31
  }
}
