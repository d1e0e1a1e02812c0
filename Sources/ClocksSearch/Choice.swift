/// A decision other than on the order of steps, with its result.
///
/// Like a step, a choice is named by its task and a number, so that it has the same name in every run.
package struct Choice: Hashable, Sendable {
  /// The name. Its kind is `choice`, `fault` or `random`, or `wake` for a sleep that may wake early, in a stall.
  package var name: ScheduleStep
  /// The number of the option; 1 for a fault or a stall. Never 0: a decision for the first option is no choice.
  package var index: Int

  package init(_ name: ScheduleStep, _ index: Int) {
    self.name = name
    self.index = index
  }

  /// Whether this is a fault or a stall, which shrinking removes first.
  package var isFault: Bool { name.kind == .fault || name.isWake }
}

extension RunRecord.Decision {
  /// Whether a sleep that was not due was chosen.
  var isStall: Bool { offersStall && chosen == count - 1 }
}

extension RunRecord {
  /// The choices of the run: its stalls, and the decisions within steps for other options than the first. O(decisions).
  package var choices: [Choice] {
    decisions.compactMap { decision in
      if decision.isStall { return Choice(candidates[decision.candidates.upperBound - 1], 1) }
      guard let name = decision.choice, decision.chosen != 0 else { return nil }
      return Choice(name, decision.chosen)
    }
  }

  /// Returns options of the decisions within steps that `choices` does not name: not the first, at most `most` of
  /// each. O(decisions · (choices + most)).
  func otherChoices(than choices: [Choice], most: Int = .max) -> [Choice] {
    var others: [Choice] = []
    for decision in decisions {
      guard let name = decision.choice, !choices.contains(where: { $0.name == name }) else {
        continue
      }
      if decision.count - 1 <= most {
        for index in 1..<decision.count { others.append(Choice(name, index)) }
      } else {
        // Takes evenly spread options, including the last one.
        for part in 1...most { others.append(Choice(name, (decision.count - 1) * part / most)) }
      }
    }
    return others
  }

  /// The number of points at which a fault could have struck.
  var faultPoints: Int { decisions.count { $0.choice?.kind == .fault } }

  /// The number of points at which a sleep could have woken early.
  var stallPoints: Int { decisions.count(where: \.offersStall) }

  /// Estimates the number of different runs, as if each had decisions like those of this run.
  func estimate(_ bounds: Bounds) -> Double {
    var product = 1.0
    for decision in decisions where decision.choice?.kind != .fault {
      product *= Double(decision.offersStall ? decision.count - 1 : decision.count)
    }
    return product * Self.subsets(of: faultPoints, atMost: bounds.faults)
      * Self.subsets(of: stallPoints, atMost: bounds.stalls)
  }

  private static func subsets(of count: Int, atMost most: Int) -> Double {
    var (sum, ways) = (1.0, 1.0)
    for size in 0..<min(most, count) {
      ways *= Double(count - size) / Double(size + 1)
      sum += ways
    }
    return sum
  }
}

/// What a search may do besides choosing an order.
package struct Bounds: Sendable, Hashable {
  /// The greatest number of faults of one run.
  package var faults = 0
  /// The greatest number of stalls of one run.
  package var stalls = 0
  /// The greatest length of one stall.
  package var stallTime = Duration.zero
  /// Whether random numbers are choices.
  package var exploresRandomness = false

  package init() {}
}

/// A random number that a search chooses.
package enum ExploredRandomness {
  /// The number of options.
  package static let options = 64

  /// Returns the number that an option stands for; option 0 is the number that is drawn without exploration.
  ///
  /// The standard library takes a value in a range from the highest bits, and a `Bool` from bit 17. Options 1 to 16
  /// set only these bits, and so spread over each range. The other bits stay, so that identifiers differ.
  static func number(_ option: Int, drawn: UInt64) -> UInt64 {
    switch option {
    case 0: return drawn
    case 1...16:
      let part = UInt64(option - 1)
      return drawn & ~(0xF << 60) & ~(1 << 17) | part << 60 | (part & 1) << 17
    default:
      var mixer = Mixer(seed: drawn &+ UInt64(option))
      return mixer.next()
    }
  }
}

extension TaskTree {
  /// Returns a choice's name, for example `a?2=3`: the second choice of `a` is option 3.
  ///
  /// A fault that strikes is `a!2`, a sleep that wakes early is `a~2^`, and a random number is `a%2=3`.
  func name(of choice: Choice) -> String {
    let name = name(of: choice.name)
    if choice.name.isWake { return name + "^" }
    return choice.isFault ? name : "\(name)=\(choice.index)"
  }

  /// Returns the choice with this name, or `nil` if the name is malformed.
  mutating func choice(named name: Substring) -> Choice? {
    if name.last == "^" {
      guard let step = step(named: name.dropLast()), step.isWake else { return nil }
      return Choice(step, 1)
    }
    let kinds: [Character: ScheduleStep.Kind] = ["?": .choice, "!": .fault, "%": .random]
    guard let end = name.firstIndex(where: { kinds[$0] != nil }), let kind = kinds[name[end]],
      let task = task(named: name[..<end])
    else { return nil }
    let sides = name[name.index(after: end)...].split(
      separator: "=", omittingEmptySubsequences: false)
    guard sides.count == (kind == .fault ? 1 : 2), let number = Self.number(sides[0]), number > 0
    else { return nil }
    let step = ScheduleStep(kind, of: task, number)
    if kind == .fault { return Choice(step, 1) }
    guard sides[1].allSatisfy({ $0.isASCII && $0.isNumber }), let index = Int(sides[1]), index > 0
    else { return nil }
    return Choice(step, index)
  }
}
