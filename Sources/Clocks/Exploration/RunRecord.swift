/// What has happened in one run: the steps, and the decisions about them.
struct RunRecord: Sendable {
  /// A decision: what could have come, and what came.
  struct Decision: Sendable {
    /// Where the candidates stand among all of the run.
    var candidates: Range<Int>
    /// The index of what came, among them.
    var chosen: Int
    /// The number of the step that came.
    var step: Int
  }

  /// The steps in the order in which they ran.
  var steps: [ScheduleStep] = []
  /// For each step the number of the one in which it became ready; -1 if it was before the first.
  var causes: [Int32] = []
  /// For each step the number of the last one before it in which its task was seen; -1 if none was.
  var previous: [Int32] = []
  /// The decisions with two candidates or more.
  var decisions: [Decision] = []
  /// The candidates of all decisions.
  var candidates: [ScheduleStep] = []
  /// Which step touches which actor, by the step's number; the main actor is 0, time 1.
  var touches: [(step: Int32, actor: Int32)] = []
  /// The tasks that were made in the run, with who made them.
  var created: [(task: Int32, parent: Int32)] = []
  /// A number that stands for the order of the steps.
  var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  /// Jobs that were made ready by what is not the test's, by the number of the step before.
  var arrivals: [(step: Int32, job: ScheduleStep)] = []

  mutating func removeAll() {
    steps.removeAll(keepingCapacity: true)
    causes.removeAll(keepingCapacity: true)
    previous.removeAll(keepingCapacity: true)
    decisions.removeAll(keepingCapacity: true)
    candidates.removeAll(keepingCapacity: true)
    touches.removeAll(keepingCapacity: true)
    created.removeAll(keepingCapacity: true)
    arrivals.removeAll(keepingCapacity: true)
    hash = 0xCBF2_9CE4_8422_2325
  }

  /// 16 bits of the hash, for a token.
  var check: UInt16 { UInt16(truncatingIfNeeded: hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) }

  /// A number of orders which there are about, if all decisions were like those of this run.
  var estimate: Double {
    decisions.reduce(1) { $0 * Double($1.candidates.count) }
  }

  // MARK: - As constraints

  /// The constraints with which first in, first out becomes this very order.
  ///
  /// A step that was overtaken waits for the last one that overtook it: one constraint each. O(candidates).
  var constraints: [Constraint] {
    var skippedBy: [ScheduleStep: ScheduleStep] = [:]
    var order: [ScheduleStep] = []
    for decision in decisions {
      let chosen = candidates[decision.candidates.lowerBound + decision.chosen]
      for index in decision.candidates.prefix(decision.chosen) {
        if skippedBy.updateValue(chosen, forKey: candidates[index]) == nil {
          order.append(candidates[index])
        }
      }
    }
    return order.compactMap { second in
      skippedBy[second].map { Constraint(first: $0, second: second) }
    }
  }

  /// The steps that have overtaken another one, from the first to the last.
  func skippedByAll(of step: ScheduleStep) -> [ScheduleStep] {
    decisions.compactMap { decision in
      let chosen = decision.candidates.lowerBound + decision.chosen
      return candidates[decision.candidates.lowerBound..<chosen].contains(step)
        ? candidates[chosen] : nil
    }
  }

  // MARK: - Conflicts

  /// What each step touches, a bit for each actor; more than 64 share bits. O(touches).
  var masks: [UInt64] {
    var masks = [UInt64](repeating: 0, count: steps.count)
    for (step, actor) in touches where step >= 0 { masks[Int(step)] |= 1 << UInt64(actor & 63) }
    return masks
  }

  /// Constraints that turn two steps round which touch the same and of which neither comes from the
  /// other, those that are near each other first. O(steps²).
  ///
  /// - Parameter limit: The number of constraints at most.
  func reversals(limit: Int) -> [Constraint] {
    let masks = masks
    // By how far the two steps are from each other.
    var found = [[Constraint]](repeating: [], count: steps.count)
    var count = 0
    // The step of which each was last seen to be a cause.
    var effects = [Int](repeating: -1, count: steps.count)
    for second in 0..<steps.count where masks[second] != 0 {
      effects[second] = second
      // Backwards, so that a step is reached after all of which it is a cause.
      var first = second
      while first >= 0 {
        if effects[first] == second {
          let (cause, earlier) = (Int(causes[first]), Int(previous[first]))
          if cause >= 0 { effects[cause] = second }
          if earlier >= 0 { effects[earlier] = second }
        } else if masks[first] & masks[second] != 0, steps[first].task != steps[second].task {
          found[second - first - 1].append(Constraint(first: steps[second], second: steps[first]))
          count += 1
        }
        first -= 1
      }
      if count > 4 * limit { break }
    }
    var nearest: [Constraint] = []
    for distance in 0..<found.count {
      for index in 0..<found[distance].count where nearest.count < limit {
        nearest.append(found[distance][index])
      }
    }
    return nearest
  }

  /// The steps that have waited while others went, in the order in which they ran; those that touch
  /// what others touch first.
  var waiting: [ScheduleStep] {
    var competed: Set<ScheduleStep> = []
    for decision in decisions { competed.formUnion(candidates[decision.candidates]) }
    let masks = masks
    let waiting = steps.indices.filter { competed.contains(steps[$0]) }
    return waiting.filter { masks[$0] != 0 }.map { steps[$0] }
      + waiting.filter { masks[$0] == 0 }.map { steps[$0] }
  }

  /// What the other strategies need to know. O(steps).
  func profile(tasks: Int) -> Profile {
    var weights = [Int](repeating: 0, count: tasks)
    for step in steps { weights[step.task] += 1 }
    // Whoever was made later comes first, so that its own weight is complete.
    for (task, parent) in created.reversed() { weights[Int(parent)] += weights[Int(task)] }
    let masks = masks
    var touched: [ScheduleStep: UInt64] = [:]
    for index in steps.indices where masks[index] != 0 { touched[steps[index]] = masks[index] }
    return Profile(steps: steps.count, weights: weights, touched: touched)
  }

  // MARK: - Comparing

  /// The first decision or step at which two runs differ; `nil` if they are the same.
  func divergence(from other: RunRecord) -> Int? {
    if hash == other.hash, steps.count == other.steps.count { return nil }
    return steps.indices.first { !other.steps.indices.contains($0) || other.steps[$0] != steps[$0] }
      ?? (steps.count == other.steps.count ? nil : steps.count)
  }
}
