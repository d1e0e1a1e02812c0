import ClocksSupport

/// The part of a strategy that makes the decisions within steps, and that decides when a stall comes.
struct OptionStrategy {
  /// The points at which faults strike, or at which stalls come.
  private struct Strikes {
    /// The numbers of the points that are struck; `nil` if each point is struck with a probability of 1 in 4.
    var numbers: [Int]?
    var passed = 0

    /// - Parameter points: The number of points at which a strike was possible in the first run.
    init(_ mixer: inout Mixer, points: Int, atMost most: Int) {
      guard most > 0, mixer.below(4) > 0 else { return }
      // A fault leads to retries, and so to more points than the first run had.
      let range = points + points / 2 + 1
      numbers = (0..<mixer.below(min(most, range) + 1)).map { _ in mixer.below(range) }
    }

    mutating func strikes(_ mixer: inout Mixer) -> Bool {
      defer { passed += 1 }
      return numbers?.contains(passed) ?? (mixer.below(4) == 0)
    }
  }

  private let plan: Plan
  private var mixer: Mixer
  private var faults: Strikes
  private var stallsOfRun: Strikes
  /// The steps before which a listed stall has come.
  private var stalled: Set<ScheduleStep> = []

  init(_ plan: Plan, _ profile: Profile, _ bounds: Bounds) {
    self.plan = plan
    // The options have their own mixer, so that the random order does not depend on them.
    mixer = Mixer(seed: ~(plan.seed ?? 0))
    faults = Strikes(&mixer, points: profile.faultPoints, atMost: bounds.faults)
    stallsOfRun = Strikes(&mixer, points: profile.stallPoints, atMost: bounds.stalls)
  }

  /// Returns the number of the option that the plan lists for a decision; `nil` if the plan does not name it.
  func listed(_ name: ScheduleStep) -> Int? {
    guard case .constraints(_, let choices) = plan else { return nil }
    for index in 0..<choices.count where choices[index].name.bits == name.bits {
      return choices[index].index
    }
    return nil
  }

  var listsStalls: Bool {
    guard case .constraints(_, let choices) = plan else { return false }
    return choices.contains(where: \.isStall)
  }

  /// Returns the index of the step before which the next listed stall comes; `nil` if there is no such candidate.
  ///
  /// - Parameter early: A sleep that wakes early. If given, only stalls that are listed before it count.
  func nextStall(
    among candidates: borrowing ScratchBuffer<ScheduleStep>, before early: ScheduleStep? = nil
  ) -> Int? {
    guard case .constraints(_, let choices) = plan else { return nil }
    if let early, listed(early) == nil { return nil }
    for choice in choices where choice.isStall {
      if choice.name == early { return nil }
      if choice.name.isWake || stalled.contains(choice.name) { continue }
      for index in 0..<candidates.count where candidates[index].bits == choice.name.bits {
        return index
      }
    }
    return nil
  }

  /// Whether a stall comes at this point of a random run.
  mutating func stalls() -> Bool {
    plan.seed != nil && stallsOfRun.strikes(&mixer)
  }

  /// Chooses one of `count` options, at least 2, and returns its number.
  mutating func choose(_ count: Int, for name: ScheduleStep) -> Int {
    switch plan {
    case .constraints where name.isStep:
      guard listed(name) != nil else { return 0 }
      stalled.insert(name)
      return 1
    case .constraints, .delay, .prefix: return min(listed(name) ?? 0, count - 1)
    // The run that takes the newest step each time also takes the last option, without faults and stalls.
    case .newestFirst: return name.kind == .choice ? count - 1 : 0
    case .random, .uniform, .priorities, .partialOrder:
      if name.kind == .fault { return faults.strikes(&mixer) ? 1 : 0 }
      if name.isStep { return stallsOfRun.strikes(&mixer) ? 1 : 0 }
      // The ends of a long range are more probable than the rest.
      if count > 8, mixer.below(8) == 0 { return mixer.below(2) * (count - 1) }
      return mixer.below(count)
    }
  }
}
