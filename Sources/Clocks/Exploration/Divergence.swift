/// Where two runs of one schedule did not do the same, and what may be the cause.
struct Divergence: Sendable {
  /// What a run has shown of causes for which nobody can decide the order.
  struct Witnesses: Sendable, Equatable {
    /// How often real time was read.
    var clockReadings = 0
    /// How often chance was asked that is not the runtime's.
    var randomReadings = 0
    /// How often the test has waited for work outside.
    var outsideWork = 0
  }

  /// What may be the cause.
  enum Suspect: Sendable, Equatable {
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
        another test: nobody can decide when. Let a task of the test's do that work, or a fake.
        """
      case .earlierRun:
        """
        state that an earlier run has left: all runs but the first are the same. A `static` \
        property, a cache or a file outlives the test: make it new in each run.
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

  /// The number of the decision, or of the step, from 1.
  let place: String
  let recorded: String
  let found: String
  let suspect: Suspect

  /// - Parameter more: More runs, which show whether only the first was different.
  init(
    _ first: RunRecord, _ second: RunRecord, _ more: [RunRecord], tree: TaskTree,
    _ witnesses: Witnesses
  ) {
    let step = first.divergence(from: second) ?? 0
    let sides = [first, second].map { record in
      record.decisions.firstIndex { $0.step >= step }
    }
    func names(_ record: RunRecord, _ decision: Int?) -> String {
      guard let decision, record.decisions[decision].step == step else {
        return record.steps.indices.contains(step) ? tree.name(of: record.steps[step]) : "the end"
      }
      return "{"
        + record.candidates[record.decisions[decision].candidates].map(tree.name)
        .joined(separator: ", ") + "}"
    }
    let isDecision = zip([first, second], sides).contains { record, decision in
      decision.map { record.decisions[$0].step == step } ?? false
    }
    place =
      isDecision
      ? "decision \((sides.compactMap(\.self).min() ?? 0) + 1)" : "step \(step + 1)"
    recorded = names(first, sides[0])
    found = names(second, sides[1])

    let arrival = [first, second].lazy.compactMap { record in
      record.arrivals.first { Int($0.step) <= step + 1 }
    }.first
    if let arrival {
      suspect = .outside(tree.name(of: arrival.job))
    } else if witnesses.outsideWork == 0, !more.isEmpty,
      more.allSatisfy({ $0.divergence(from: second) == nil })
    {
      // Work outside might have been as quick in all of these by chance.
      suspect = .earlierRun
    } else if witnesses.randomReadings > 0 {
      suspect = .randomness
    } else if witnesses.outsideWork > 0 || first.arrivals.count + second.arrivals.count > 0 {
      suspect = .outside(nil)
    } else if witnesses.clockReadings > 0 {
      suspect = .realTime
    } else {
      suspect = .addresses
    }
  }

  /// For example `diverged at decision 17: recorded {a.3, b.5}, found {b.5}`.
  var description: String {
    "diverged at \(place): recorded \(recorded), found \(found)\nSuspect: \(suspect.description)"
  }
}
