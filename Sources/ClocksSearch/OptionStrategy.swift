/// The part of a strategy that makes the decisions within steps: on options and on faults.
struct OptionStrategy {
  private enum Kind {
    /// The listed choices, and else the first option.
    case listed([Choice])
    /// The last option, and no fault.
    case last
    case random(faults: Faults)
  }

  private enum Faults {
    /// Those with these numbers, among all points at which a fault can strike.
    case at([Int])
    /// Each with the probability 1/4.
    case anywhere
  }

  private var kind: Kind
  private var mixer = Mixer(seed: 0)
  /// How many points at which a fault can strike have passed.
  private var points = 0

  /// - Parameter faultPoints: The number of such points in the first run.
  init(_ plan: Plan, faultPoints: Int, _ bounds: Bounds) {
    switch plan {
    case .constraints(_, let choices): kind = .listed(choices)
    case .delay, .prefix: kind = .listed([])
    case .newestFirst: kind = .last
    case .random(let seed), .uniform(let seed), .priorities(let seed, _), .partialOrder(let seed):
      // Other numbers than those for the order, which does not depend on the options then.
      mixer = Mixer(seed: ~seed)
      kind = .random(faults: .anywhere)
      guard bounds.faults > 0 else { return }
      // A fault leads to retries, and so to more points than the first run had.
      let range = faultPoints + faultPoints / 2 + 1
      if mixer.below(4) > 0 {
        let count = mixer.below(bounds.faults + 1)
        kind = .random(faults: .at((0..<count).map { _ in mixer.below(range) }))
      }
    }
  }

  func lists(_ name: ScheduleStep) -> Bool {
    guard case .listed(let choices) = kind else { return false }
    for index in 0..<choices.count where choices[index].name.bits == name.bits { return true }
    return false
  }

  /// Returns the number of an option, of two or more.
  mutating func choose(_ count: Int, for name: ScheduleStep) -> Int {
    switch kind {
    case .listed(let choices):
      for index in 0..<choices.count where choices[index].name.bits == name.bits {
        return min(choices[index].index, count - 1)
      }
      return 0
    case .last: return name.kind == .fault ? 0 : count - 1
    case .random(let faults):
      guard name.kind == .fault else {
        // The ends of a long range are more probable than the rest.
        if count > 8, mixer.below(8) == 0 { return mixer.below(2) * (count - 1) }
        return mixer.below(count)
      }
      defer { points += 1 }
      switch faults {
      case .at(let numbers): return numbers.contains(points) ? 1 : 0
      case .anywhere: return mixer.below(4) == 0 ? 1 : 0
      }
    }
  }
}
