/// A decision within a step, and what was decided.
///
/// Like a step, it is named by its task and a number, so that it has the same name in every run.
package struct Choice: Hashable, Sendable {
  /// Of the kind `choice` or `fault`.
  package var name: ScheduleStep
  /// The number of the option, from 0; 1 for a fault that strikes. Only deviations are listed, so it is not 0.
  package var index: Int

  package init(_ name: ScheduleStep, _ index: Int) {
    self.name = name
    self.index = index
  }

  package var isFault: Bool { name.kind == .fault }
}

extension RunRecord {
  /// The decisions within steps that were not for the first option, in their order. O(decisions).
  package var choices: [Choice] {
    decisions.compactMap { decision in
      guard let name = decision.choice, decision.chosen != 0 else { return nil }
      return Choice(name, decision.chosen)
    }
  }

  /// The other options of the decisions within steps that are not among `choices`: at most `most` of each
  /// decision. O(decisions · (choices + most)).
  func otherChoices(than choices: [Choice], most: Int = .max) -> [Choice] {
    var others: [Choice] = []
    for decision in decisions {
      guard let name = decision.choice, !choices.contains(where: { $0.name == name }) else {
        continue
      }
      if decision.count - 1 <= most {
        for index in 1..<decision.count { others.append(Choice(name, index)) }
      } else {
        // Evenly spread, and the last one.
        for part in 1...most { others.append(Choice(name, (decision.count - 1) * part / most)) }
      }
    }
    return others
  }

  /// The number of the decisions on a fault.
  var faultPoints: Int { decisions.count { $0.choice?.kind == .fault } }
}

/// What a search may do besides choosing an order.
package struct Bounds: Sendable, Hashable {
  /// The greatest number of faults of one run.
  package var faults = 0

  package init(faults: Int = 0) { self.faults = faults }
}

extension TaskTree {
  /// For example `a?2=3`: the second choice of `a` is option 3. A fault that strikes is `a!2`.
  func name(of choice: Choice) -> String {
    choice.isFault ? name(of: choice.name) : "\(name(of: choice.name))=\(choice.index)"
  }

  /// Returns the choice with this name, or `nil` if the name is malformed.
  mutating func choice(named name: Substring) -> Choice? {
    guard let end = name.firstIndex(where: { $0 == "?" || $0 == "!" }),
      let task = task(named: name[..<end])
    else { return nil }
    let isFault = name[end] == "!"
    let sides = name[name.index(after: end)...].split(
      separator: "=", omittingEmptySubsequences: false)
    guard sides.count == (isFault ? 1 : 2), let number = Self.number(sides[0]), number > 0 else {
      return nil
    }
    if isFault { return Choice(ScheduleStep(.fault, of: task, number), 1) }
    guard sides[1].allSatisfy({ $0.isASCII && $0.isNumber }), let index = Int(sides[1]), index > 0
    else { return nil }
    return Choice(ScheduleStep(.choice, of: task, number), index)
  }
}
