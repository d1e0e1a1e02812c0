/// The name of one step of a test, or of a decision within a step.
///
/// A step is named by its task and by a number that does not depend on the order in which tasks run.
/// So it has the same name in every run.
package struct ScheduleStep: Hashable, BitwiseCopyable, Sendable {
  package enum Kind: UInt64 {
    /// Job `number` of the task.
    case job = 0
    /// A drain of the actor whose queue holds the task after its job `number`.
    case drain = 1
    /// The end of sleep `number` of the task.
    case wake = 2
    /// A job of the runtime that the task caused after its job `number`, such as that of a yield.
    case other = 3
    /// Choice `number` of the task. This and the kinds below are not steps, but decisions within one.
    case choice = 4
    /// Fault `number` of the task.
    case fault = 5
    /// Random number `number` of the task.
    case random = 6
  }

  /// The task, the number, the part and the kind, from the highest bits to the lowest.
  package let bits: UInt64

  package init(bits: UInt64) { self.bits = bits }

  /// - Parameter part: Distinguishes steps of one kind and number, up to 4,095.
  package init(_ kind: Kind, of task: Int, _ number: Int, part: Int = 1) {
    // If the count began again, a step would have the name of another one, or one that no token can contain.
    let part = part < 0xFFF ? part : 0xFFF
    bits =
      UInt64(truncatingIfNeeded: task) << 40 | UInt64(truncatingIfNeeded: number & 0xFF_FFFF) << 16
      | UInt64(truncatingIfNeeded: part) << 4 | kind.rawValue
  }

  package var task: Int { Int(bits >> 40) }
  package var number: Int { Int(bits >> 16 & 0xFF_FFFF) }
  package var part: Int { Int(bits >> 4 & 0xFFF) }
  package var kind: Kind { Kind(rawValue: bits & 0xF) ?? .other }

  /// Whether the step only ends a sleep: the job of the task comes later.
  package var isWake: Bool { bits & 0xF == Kind.wake.rawValue }
  package var isOther: Bool { bits & 0xF == Kind.other.rawValue }
  /// Whether this names a step, and not a decision within one.
  var isStep: Bool { bits & 0xF <= Kind.other.rawValue }
}

/// An ordering constraint: the first step runs before the second step, which would run first without the constraint.
package struct Constraint: Hashable, Sendable {
  package var first: ScheduleStep
  package var second: ScheduleStep
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

/// The tasks of a test, as a tree in which each task is a child of the task that created it.
///
/// The tree grows from run to run. A task has the same place in every run, so the index of that place
/// names the task. In text a task is the path to it: `a` is the first task that the test itself creates,
/// `ab` the second one that `a` creates, and `za`, `zb` … follow `y`. The test itself is `0`. The path of
/// a task that was created outside the test begins with `1`.
package struct TaskTree: Sendable {
  package static let test = 0
  package static let outside = 1
  /// The number of tasks that a `ScheduleStep` can name.
  private static let mostTasks = 1 << 24

  private struct Node {
    var parent: Int
    var ordinal: Int
    var children: [Int] = []
    var hash: UInt64
  }

  private var nodes = [
    Node(parent: -1, ordinal: 0, hash: 0x9E37_79B9_7F4A_7C15),
    Node(parent: -1, ordinal: 1, hash: 0xD1B5_4A32_D192_ED03),
  ]

  package init() {}

  package var count: Int { nodes.count }

  /// Returns the index of a child, and adds the child if it is new. O(1), or O(ordinal) for a new child.
  package mutating func child(_ ordinal: Int, of parent: Int) -> Int {
    while nodes[parent].children.count <= ordinal {
      let next = nodes[parent].children.count
      let hash = Mixer.mix(nodes[parent].hash, UInt64(next) &+ 1)
      nodes.append(Node(parent: parent, ordinal: next, hash: hash))
      nodes[parent].children.append(nodes.count - 1)
    }
    return nodes[parent].children[ordinal]
  }

  /// Returns a hash of the step that is equal in every process.
  package func hash(of step: ScheduleStep) -> UInt64 {
    Mixer.mix(nodes[step.task].hash, step.bits & 0xFF_FFFF_FFFF)
  }

  package func name(of task: Int) -> String {
    if task == Self.test { return "0" }
    // A loop, because a chain of tasks that create each other may be too long for a recursion.
    var (task, letters) = (task, [UInt8]())
    while task > Self.outside {
      let ordinal = nodes[task].ordinal
      letters.append(UInt8(97 + ordinal % 25))
      letters += repeatElement(122, count: ordinal / 25)
      task = nodes[task].parent
    }
    return (task == Self.outside ? "1" : "") + String(decoding: letters.reversed(), as: UTF8.self)
  }

  package func name(of step: ScheduleStep) -> String {
    let mark = Self.marks.first { $0.value == step.kind }?.key ?? "."
    let sign = step.kind == .drain ? "@" : step.kind == .other ? "+" : ""
    let part = step.part > 1 ? "\(step.part)" : ""
    return "\(name(of: step.task))\(mark)\(step.number)\(sign)\(part)"
  }

  /// The characters between a task and a number. A drain or another job of the runtime has the mark of a job, and a
  /// sign behind the number.
  private static let marks: [Character: ScheduleStep.Kind] = [
    ".": .job, "~": .wake, "?": .choice, "!": .fault, "%": .random,
  ]

  func name(of constraint: Constraint) -> String {
    "\(name(of: constraint.first))<\(name(of: constraint.second))"
  }

  /// Returns the constraint with this name, or `nil` if the name is malformed.
  mutating func constraint(named name: Substring) -> Constraint? {
    let sides = name.split(separator: "<", omittingEmptySubsequences: false)
    guard sides.count == 2, let first = step(named: sides[0]), let second = step(named: sides[1]),
      first.isStep, second.isStep, first != second
    else { return nil }
    return Constraint(first: first, second: second)
  }

  /// Returns the step or the decision within a step with this name, or `nil` if the name is malformed.
  mutating func step(named name: Substring) -> ScheduleStep? {
    guard let end = name.firstIndex(where: { Self.marks[$0] != nil }),
      let kind = Self.marks[name[end]], let task = task(named: name[..<end])
    else { return nil }
    let rest = name[name.index(after: end)...]
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard let number = Self.number(digits) else { return nil }
    let tail = rest[digits.endIndex...]
    guard let sign = tail.first else {
      return number > 0 ? ScheduleStep(kind, of: task, number) : nil
    }
    let part = tail.dropFirst().isEmpty ? 1 : Self.number(tail.dropFirst()) ?? 0
    guard kind == .job, part > 0, part <= 0xFFF else { return nil }
    switch sign {
    case "@": return ScheduleStep(.drain, of: task, number, part: part)
    case "+": return ScheduleStep(.other, of: task, number, part: part)
    default: return nil
    }
  }

  private static func number(_ digits: Substring) -> Int? {
    guard digits.count <= 7, let number = Int(digits), number >= 0, number <= 0xFF_FFFF else {
      return nil
    }
    return number
  }

  private mutating func task(named name: Substring) -> Int? {
    if name == "0" { return Self.test }
    if name == "1" { return Self.outside }
    var task = name.first == "1" ? Self.outside : Self.test
    var ordinal = 0
    let letters = name.first == "1" ? name.dropFirst() : name
    guard !letters.isEmpty, letters.last != "z" else { return nil }
    for byte in letters.utf8 {
      guard (97...122).contains(byte) else { return nil }
      if byte == 122 {
        ordinal += 25
      } else {
        ordinal += Int(byte) - 97
        // No run has such a task, and its siblings would fill the memory.
        guard count + ordinal < Self.mostTasks else { return nil }
        task = child(ordinal, of: task)
        ordinal = 0
      }
    }
    return task
  }
}
