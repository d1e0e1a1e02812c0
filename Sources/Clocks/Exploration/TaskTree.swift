/// The tasks of a test as a tree of who made whom, which grows from run to run.
///
/// In every run a task is found at the same place, so that its index names it. In text a task is the
/// path to it: `a` is the first task that the test itself makes, `ab` the second one that `a` makes,
/// and after `y` come `za`, `zb` … The test itself is `0`; what was made from outside the test begins
/// with `1`.
struct TaskTree: Sendable {
  static let test = 0
  static let outside = 1

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

  var count: Int { nodes.count }

  /// The index of a task's child, which need not have been seen before. Amortized O(ordinal) at the
  /// first time, then O(1).
  mutating func child(_ ordinal: Int, of parent: Int) -> Int {
    while nodes[parent].children.count <= ordinal {
      let next = nodes[parent].children.count
      let hash = Mixer.mix(nodes[parent].hash, UInt64(next) &+ 1)
      nodes.append(Node(parent: parent, ordinal: next, hash: hash))
      nodes[parent].children.append(nodes.count - 1)
    }
    return nodes[parent].children[ordinal]
  }

  /// The parent's index; `nil` for the test itself and for what is outside.
  func parent(of task: Int) -> Int? {
    nodes[task].parent >= 0 ? nodes[task].parent : nil
  }

  /// A number that stands for the step in every process.
  func hash(of step: ScheduleStep) -> UInt64 {
    Mixer.mix(nodes[step.task].hash, step.bits & 0xFF_FFFF_FFFF)
  }

  // MARK: - Text

  func name(of task: Int) -> String {
    if task == Self.test { return "0" }
    if task == Self.outside { return "1" }
    let parent = nodes[task].parent
    var name = parent == Self.test ? "" : name(of: parent)
    var ordinal = nodes[task].ordinal
    while ordinal >= 25 {
      name += "z"
      ordinal -= 25
    }
    name.unicodeScalars.append(Unicode.Scalar(UInt8(97 + ordinal)))
    return name
  }

  func name(of step: ScheduleStep) -> String {
    let task = name(of: step.task)
    let part = step.part > 1 ? "\(step.part)" : ""
    switch step.kind {
    case .job: return "\(task).\(step.number)"
    case .drain: return "\(task).\(step.number)@\(part)"
    case .wake: return "\(task)~\(step.number)"
    case .other: return "\(task).\(step.number)+\(part)"
    }
  }

  func name(of constraint: Constraint) -> String {
    "\(name(of: constraint.first))<\(name(of: constraint.second))"
  }

  /// The step with this name; `nil` if it is none.
  mutating func step(named name: Substring) -> ScheduleStep? {
    guard let end = name.firstIndex(where: { $0 == "." || $0 == "~" }) else { return nil }
    guard let task = task(named: name[..<end]) else { return nil }
    let rest = name[name.index(after: end)...]
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard let number = Self.number(digits) else { return nil }
    let tail = rest[digits.endIndex...]
    if name[end] == "~" {
      return tail.isEmpty && number > 0 ? ScheduleStep(.wake, of: task, number) : nil
    }
    guard let sign = tail.first else {
      return number > 0 ? ScheduleStep(.job, of: task, number) : nil
    }
    let part = tail.dropFirst().isEmpty ? 1 : Self.number(tail.dropFirst()) ?? 0
    guard part > 0, part <= 0xFFF else { return nil }
    switch sign {
    case "@": return ScheduleStep(.drain, of: task, number, part: part)
    case "+": return ScheduleStep(.other, of: task, number, part: part)
    default: return nil
    }
  }

  mutating func constraint(named name: Substring) -> Constraint? {
    let sides = name.split(separator: "<", omittingEmptySubsequences: false)
    guard sides.count == 2, let first = step(named: sides[0]), let second = step(named: sides[1]),
      first != second
    else { return nil }
    return Constraint(first: first, second: second)
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
    // A path is short: whoever writes a longer one has damaged it.
    guard name.utf8.count <= 200 else { return nil }
    let letters = name.first == "1" ? name.dropFirst() : name
    guard !letters.isEmpty, letters.last != "z" else { return nil }
    for byte in letters.utf8 {
      guard (97...122).contains(byte) else { return nil }
      if byte == 122 {
        ordinal += 25
      } else {
        task = child(ordinal + Int(byte) - 97, of: task)
        ordinal = 0
      }
    }
    return task
  }
}

/// Numbers that look like chance and are the same in every process: SplitMix64.
struct Mixer: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  @inline(__always)
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.scramble(state)
  }

  /// A number below `limit`, which is positive. O(1), and a tiny bit uneven.
  @inline(__always)
  mutating func below(_ limit: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(limit)).high)
  }

  @inline(__always)
  static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    scramble(hash &* 0x100_0000_01B3 ^ value)
  }

  static func hash(_ text: String) -> UInt64 {
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
