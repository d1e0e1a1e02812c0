/// A decision other than on the order of steps, with its result.
///
/// Like a step, a choice is named by its task and a number, so that it has the same name in every run.
package struct Choice: Hashable, Sendable {
  /// The name: of a decision within a step, of a sleep that may wake early, or of a step that begins late.
  package var name: ScheduleStep
  /// The number of the option. Never 0: a decision for the first option does not count as a choice.
  ///
  /// It is 1 for a fault and for a sleep that may wake early. For a step that begins late, it is the length of the
  /// stall in nanoseconds.
  package var index: Int

  package init(_ name: ScheduleStep, _ index: Int) {
    self.name = name
    self.index = index
  }

  /// Whether this is a fault or a stall, which shrinking removes first.
  package var isFault: Bool { name.kind == .fault || isStall }

  package var isStall: Bool { name.isStep }
}

extension RunRecord.Decision {
  /// Whether a sleep that was not due was chosen.
  var wakesEarly: Bool { offersStall && chosen == count - 1 }

  /// Whether the decision was about a stall before a step.
  var mayDelayStep: Bool { choice?.isStep == true }
}

extension RunRecord {
  /// The choices of the run: its stalls, and the decisions within steps for other options than the first. O(decisions).
  package var choices: [Choice] {
    var stalls = stalls
    return decisions.compactMap { decision in
      if decision.wakesEarly { return Choice(candidates[decision.candidates.upperBound - 1], 1) }
      guard let name = decision.choice, decision.chosen != 0 else { return nil }
      // The first of several stalls in a row stands for all of them.
      if decision.mayDelayStep { return stalls.removeValue(forKey: decision.step) }
      return Choice(name, decision.chosen * decision.unit)
    }
  }

  /// The stalls of runs that repeat this one, by the number of the step after which each comes.
  ///
  /// After a stall, the next step is decided again. No constraint can say that another stall or another job comes
  /// after the stall, but before its step. So stalls in a row are repeated as one, which comes before the job that
  /// came next. If the end of a sleep came next, it comes before the step of the last of them.
  /// O(decisions + stalls²).
  var stalls: [Int: Choice] {
    var stalls: [Int: Choice] = [:]
    for decision in decisions where decision.mayDelayStep && decision.chosen != 0 {
      let next = steps.indices.contains(decision.step + 1) ? steps[decision.step + 1] : nil
      // A step stalls at most once.
      let isLate = stalls.contains { $0.key < decision.step && $0.value.name == next }
      guard let name = next.flatMap({ $0.isWake || isLate ? nil : $0 }) ?? decision.choice
      else { continue }
      let (length, isTooLong) = decision.unit.addingReportingOverflow(
        stalls[decision.step]?.index ?? 0)
      stalls[decision.step] = Choice(name, isTooLong ? .max : length)
    }
    return stalls
  }

  /// Returns options of the decisions within steps that `choices` does not name: not the first, at most `most` of
  /// each. O(decisions · (choices + most)).
  func otherChoices(than choices: [Choice], most: Int = .max) -> [Choice] {
    var others: [Choice] = []
    for decision in decisions {
      guard let name = decision.choice, !choices.contains(where: { $0.name == name }) else {
        continue
      }
      // Takes evenly spread options, including the last one. `(decision.count - 1) * part` could overflow, so the
      // division comes first.
      let taken = min(decision.count - 1, most)
      let (distance, rest) = (decision.count - 1).quotientAndRemainder(dividingBy: taken)
      for part in 1...taken {
        others.append(Choice(name, (distance * part + rest * part / taken) * decision.unit))
      }
    }
    return others
  }

  /// The number of points at which a fault could have struck.
  var faultPoints: Int { decisions.count { $0.choice?.kind == .fault } }

  /// The number of points at which a stall could have come.
  var stallPoints: Int { decisions.count { $0.offersStall || $0.mayDelayStep } }

  /// Estimates the number of different runs, as if each had decisions like those of this run.
  func estimate(_ bounds: Bounds) -> Double {
    var product = 1.0
    for decision in decisions where decision.choice?.kind != .fault && !decision.mayDelayStep {
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

/// The limits of a search's choices besides the order of jobs.
package struct Bounds: Sendable, Hashable {
  /// The greatest number of faults of one run.
  package var faults = 0
  /// The greatest number of stalls of one run.
  package var stalls = 0
  /// The greatest length of one stall.
  package var stallTime = Duration.zero
  /// The nanoseconds of the greatest length, rounded down.
  var wholeNanoseconds: Int { Int(clamping: stallTime.attoseconds / 1_000_000_000) }
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

/// The length of a stall in a token: a number with the largest unit in which it is whole, for example `250ms`.
private enum StallLength {
  private static let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]

  static func text(_ nanoseconds: Int) -> String {
    let (name, size) = units.first { nanoseconds.isMultiple(of: $0.1) } ?? ("ns", 1)
    return "\(nanoseconds / size)\(name)"
  }

  static func nanoseconds(_ text: Substring) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let count = Int(digits), count > 0,
      let size = units.first(where: { $0.0 == text[digits.endIndex...] })?.1
    else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: size)
    return overflow ? nil : product
  }
}

extension TaskTree {
  /// Returns a choice's name, for example `a?2=3`: the second choice of `a` is option 3.
  ///
  /// A fault that strikes is `a!2`, a sleep that wakes early is `a~2^`, a step that begins a second late is `a.2^1s`,
  /// and a random number is `a%2=3`.
  func name(of choice: Choice) -> String {
    let name = name(of: choice.name)
    if choice.isStall {
      return name + "^" + (choice.name.isWake ? "" : StallLength.text(choice.index))
    }
    return choice.isFault ? name : "\(name)=\(choice.index)"
  }

  /// Returns the choice with this name, or `nil` if the name is malformed.
  mutating func choice(named name: Substring) -> Choice? {
    if let mark = name.firstIndex(of: "^") {
      let length = name[name.index(after: mark)...]
      guard let step = step(named: name[..<mark]), step.isStep else { return nil }
      if step.isWake { return length.isEmpty ? Choice(step, 1) : nil }
      return StallLength.nanoseconds(length).map { Choice(step, $0) }
    }
    let sides = name.split(separator: "=", omittingEmptySubsequences: false)
    guard let step = step(named: sides[0]), !step.isStep,
      sides.count == (step.kind == .fault ? 1 : 2)
    else { return nil }
    if step.kind == .fault { return Choice(step, 1) }
    guard sides[1].allSatisfy({ $0.isASCII && $0.isNumber }), let index = Int(sides[1]), index > 0
    else { return nil }
    return Choice(step, index)
  }
}
