import ClocksSupport

/// The steps and the decisions of one run.
package struct RunRecord: Sendable {
  /// A decision on the next step, or one within a step.
  package struct Decision: Sendable {
    /// The range of the candidates in `RunRecord.candidates`; empty for a decision within a step.
    package var candidates: Range<Int>
    /// The number of the chosen candidate or option.
    package var chosen: Int
    /// The number of the step that was chosen, or in which the decision was made.
    package var step: Int
    package var count: Int
    /// The name of a decision within a step. The decision whether a stall comes before a step has the name of the step.
    package var choice: ScheduleStep?
    /// The number that stands for option 1 in a `Choice`: the nanoseconds of a stall.
    package var unit = 1
    /// Whether the last candidate is a sleep that is not due.
    package var offersStall = false
  }

  package var steps: [ScheduleStep] = []
  /// For each step, a hash that is equal in every process.
  var stepHashes: [UInt64] = []
  /// For each step, the number of the step in which it became ready; -1 if there was none, or if the step is a wake.
  var causes: [Int32] = []
  /// For each step, the number of the last earlier step in which its task was seen, or -1.
  var previous: [Int32] = []
  /// The decisions. Each has two or more candidates or options.
  package var decisions: [Decision] = []
  /// The candidates of all decisions.
  var candidates: [ScheduleStep] = []
  /// The actors that each step touches. Step -1 stands for what happens before the first step.
  var touches: [(step: Int32, actor: Int32)] = []
  var created: [(task: Int32, parent: Int32)] = []
  /// A hash of the steps, and of the decisions within them, that is equal in every process.
  package var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  /// The jobs that something outside the test made ready, each with the number of the latest step at that time.
  var arrivals: [(step: Int32, job: ScheduleStep)] = []

  mutating func removeAll() {
    steps.removeAll(keepingCapacity: true)
    stepHashes.removeAll(keepingCapacity: true)
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
  package var check: UInt16 {
    UInt16(truncatingIfNeeded: hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48)
  }

  /// The constraints that turn first in, first out into the order of this run. O(candidates).
  ///
  /// Each step that was overtaken has one constraint, and waits for the last step that overtook it.
  package var constraints: [Constraint] {
    var skippedBy: [ScheduleStep: ScheduleStep] = [:]
    var order: [ScheduleStep] = []
    let stalls = stalls
    for (number, decision) in decisions.enumerated() where decision.choice == nil {
      let chosen = candidates[decision.candidates.lowerBound + decision.chosen]
      if number + 1 < decisions.count, decisions[number + 1].choice == chosen,
        decisions[number + 1].chosen != 0, let stall = stalls[decision.step - 1]?.name,
        stall != chosen, steps.indices.contains(decision.step), steps[decision.step] == stall
      {
        // A stall came, and then another job.
        continue
      }
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

  /// The patience of runs that repeat this one by its constraints.
  ///
  /// In this run, a step may have waited in each decision. The patience is twice as much, because a step may wait for
  /// longer once other constraints are removed.
  package var patience: Int { max(Profile.standardPatience, 2 * decisions.count) }

  /// Maps each step that another task made ready to the number of the step in which that task did so. O(steps +
  /// arrivals).
  ///
  /// Leaves out a step if its own task has made it ready, such as a hop to an actor, or if something outside the test
  /// has. Also leaves out the first step of each task: the task's name shows which task created it.
  package func resumers(of steps: some Sequence<Int>) -> [Int: Int] {
    let isFromOutside = Set(arrivals.map(\.job))
    var resumers: [Int: Int] = [:]
    for step in steps {
      let (name, cause) = (self.steps[step], Int(causes[step]))
      guard cause >= 0, previous[step] >= 0, name.kind == .job || name.kind == .drain,
        self.steps[cause].task != name.task, !isFromOutside.contains(name)
      else { continue }
      resumers[step] = cause
    }
    return resumers
  }

  /// Returns the steps that overtook `step`, in the order in which they ran.
  func skippedByAll(of step: ScheduleStep) -> [ScheduleStep] {
    decisions.compactMap { decision in
      guard decision.choice == nil else { return nil }
      let chosen = decision.candidates.lowerBound + decision.chosen
      return candidates[decision.candidates.lowerBound..<chosen].contains(step)
        ? candidates[chosen] : nil
    }
  }

  /// For each step, one bit for each actor that the step touches. If there are more than 64 actors, they share bits.
  /// O(touches).
  var masks: [UInt64] {
    var masks = [UInt64](repeating: 0, count: steps.count)
    for (step, actor) in touches where step >= 0 { masks[Int(step)] |= 1 << UInt64(actor & 63) }
    return masks
  }

  /// Returns constraints, each of which reverses two steps, nearest steps first.
  ///
  /// The two steps touch the same actor, and neither step is a cause of the other. Visits at most 5,000 pairs of steps
  /// for each constraint of the limit, because few steps of a long run may be in conflict.
  func reversals(limit: Int) -> [Constraint] {
    let masks = masks
    // If the product overflows, there is no limit, and all pairs are visited. Otherwise only pairs of nearby steps are.
    let (pairs, hasNoLimit) = limit.multipliedReportingOverflow(by: 5_000)
    let reach = hasNoLimit ? steps.count : pairs / max(steps.count, 1)
    // The constraints that were found, by the distance of their two steps.
    var found = [[Constraint]](repeating: [], count: steps.count)
    var count = 0
    // For each step, the last step that is known to be its effect.
    var effects = [Int](repeating: -1, count: steps.count)
    for second in 0..<steps.count where masks[second] != 0 {
      effects[second] = second
      // Goes backwards, so that a step is visited after all its effects.
      var first = second
      while first >= max(0, second - reach) {
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
    return Array(found.joined().prefix(limit))
  }

  /// Returns a constraint for each step that could have come in the place of another step. O(candidates).
  ///
  /// These constraints also reverse steps that share a lock or an object, which no record shows.
  func alternatives(limit: Int) -> [Constraint] {
    var found: [Constraint] = []
    for decision in decisions {
      let chosen = decision.candidates.lowerBound + decision.chosen
      for other in decision.candidates where other != chosen && found.count < limit {
        found.append(Constraint(first: candidates[other], second: candidates[chosen]))
      }
    }
    return found
  }

  /// The steps that were candidates of a decision: first those that touch an actor, then the others, each group in
  /// the order in which its steps ran.
  var waiting: [ScheduleStep] {
    let competed = Set(candidates)
    let masks = masks
    let waiting = steps.indices.filter { competed.contains(steps[$0]) }
    return waiting.filter { masks[$0] != 0 }.map { steps[$0] }
      + waiting.filter { masks[$0] == 0 }.map { steps[$0] }
  }

  /// Returns the profile of the run for strategies. O(steps).
  func profile(tasks: Int) -> Profile {
    var profile = Profile(patience: patience)
    profile.steps = steps.count
    profile.faultPoints = faultPoints
    profile.stallPoints = stallPoints
    profile.weights = Array(repeating: 0, count: tasks)
    for step in steps { profile.weights[step.task] += 1 }
    // Goes in reverse, so that the weight of a task is complete before it is added to that of its parent.
    for (task, parent) in created.reversed() {
      profile.weights[Int(parent)] += profile.weights[Int(task)]
    }
    for (step, mask) in zip(steps, masks) where mask != 0 {
      profile.touched.set(step.bits, to: mask)
    }
    return profile
  }

  /// Returns the number of the first step at which two runs differ, or `nil` if they have the same steps.
  package func divergence(from other: RunRecord) -> Int? {
    let same = zip(steps, other.steps).prefix { $0 == $1 }.count
    return same == max(steps.count, other.steps.count) ? nil : same
  }
}

/// The first place at which two runs of one schedule differ, and a likely cause.
package struct Divergence: Sendable {
  package enum Suspect: Sendable, Hashable {
    /// The step that something outside the test made ready; `nil` if not known.
    case outside(String?)
    case earlierRun
    case realTime
    case randomness
    case addresses

    var description: String {
      switch self {
      case .outside(let step):
        """
        \(step ?? "A task") was made ready from outside the test, by a thread, a queue, a scope within it or \
        another test, at a time that a search cannot choose. Let a task of the test do that work, or a fake.
        """
      case .earlierRun:
        """
        state that an earlier run has left: all runs but the first are equal. A `static` property, a \
        cache or a file outlives the test: create it anew in each run.
        """
      case .realTime:
        """
        real time: the test reads a clock that is not virtual (`DispatchTime.now()`, \
        `clock_gettime`). Take the time from a clock.
        """
      case .randomness:
        """
        randomness that does not come from the standard library (`/dev/urandom`, `rand`). Give the \
        test a generator with a seed.
        """
      case .addresses:
        """
        the order of a Set or Dictionary whose keys hash by address (objects, `ObjectIdentifier`), or \
        a comparison of addresses. Sort by something that is the same in every run.
        """
      }
    }
  }

  /// The kind and the number, from 1, of the first decision or step that differs.
  package let place: String
  /// The behavior of the first run and of the second at that place, for example `could continue with {a.3, b.5}`.
  package let recorded: String
  package let found: String
  package let suspect: Suspect

  /// Compares two runs of one schedule.
  ///
  /// - Parameters:
  ///   - more: More runs, which show whether only the first run differs from the others.
  ///   - used: The sources of nondeterminism that the second run used.
  package init(
    _ first: RunRecord, _ second: RunRecord, _ more: [RunRecord], tree: TaskTree,
    used: Set<Suspect>
  ) {
    let step = first.divergence(from: second) ?? 0
    let sides = [first, second].map { record in
      record.decisions.firstIndex { $0.step == step && $0.choice == nil }
    }
    func words(_ record: RunRecord, _ decision: Int?) -> String {
      guard let decision else {
        guard record.steps.indices.contains(step) else { return "ended" }
        return "continued with \(tree.name(of: record.steps[step]))"
      }
      let names = record.candidates[record.decisions[decision].candidates].map(tree.name)
      return "could continue with {\(names.joined(separator: ", "))}"
    }
    place = sides.compactMap(\.self).min().map { "decision \($0 + 1)" } ?? "step \(step + 1)"
    recorded = words(first, sides[0])
    found = words(second, sides[1])

    let arrival = [first, second].lazy.compactMap { record in
      record.arrivals.first { Int($0.step) <= step + 1 }
    }.first
    if let arrival {
      suspect = .outside(tree.name(of: arrival.job))
    } else if !used.contains(.outside(nil)), !more.isEmpty,
      more.allSatisfy({ $0.divergence(from: second) == nil })
    {
      // The condition requires that no work outside the test was seen: by chance, such work could have taken the same
      // time in all later runs.
      suspect = .earlierRun
    } else if used.contains(.randomness) {
      suspect = .randomness
    } else if used.contains(.outside(nil)) || first.arrivals.count + second.arrivals.count > 0 {
      suspect = .outside(nil)
    } else if used.contains(.realTime) {
      suspect = .realTime
    } else {
      suspect = .addresses
    }
  }

  /// Example: `differ at decision 17: the first run could continue with {a.3, b.5}, the second continued with b.5`.
  package var difference: String {
    "differ at \(place): the first run \(recorded), the second \(found)"
  }

  /// The difference and, on a second line, the suspect.
  package var description: String { "\(difference)\nSuspect: \(suspect.description)" }
}
