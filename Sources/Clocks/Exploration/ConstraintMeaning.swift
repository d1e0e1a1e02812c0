import ClocksSearch
import ClocksSupport

/// What the constraints of a failure mean, as far as the steps of its last run show it.
///
/// A turn is one piece of a task that runs on an actor. A task that acts in its second turn on what it knows from
/// its first fails if another task has a turn in between: that is the commonest bug of actors.
struct ConstraintMeaning {
  private struct Turn {
    /// The number of the step, and the place within it.
    var position: (step: Int, place: Int)
    /// The number of the actor; -1 for the main actor.
    var actor: Int
    var task: Int
    var functions: [UInt]

    func isBefore(_ other: Turn) -> Bool { position < other.position }
  }

  private enum Meaning {
    case between(Turn, Turn, Turn)
    case reaches(Turn, Turn)
    case steps(Int, Int)
  }

  private let failure: Exploration.Failure
  /// For each constraint a sentence, if one is known.
  private(set) var texts: [String?]

  init(_ failure: Exploration.Failure) {
    self.failure = failure
    texts = failure.constraints.map { _ in nil }
    guard let details = failure.details, details.steps.count == failure.record.steps.count else {
      return
    }
    let turns = Self.turns(details, failure.record)
    let meanings = failure.constraints.map { meaning(of: $0, turns) }
    let functions = meanings.reduce(into: Set<UInt>()) { functions, meaning in
      switch meaning {
      case .between(let first, let other, let second):
        for turn in [first, other, second] { functions.formUnion(turn.functions) }
      case .reaches(let first, let second):
        for turn in [first, second] { functions.formUnion(turn.functions) }
      case .steps(let first, let second):
        for step in [first, second] { functions.formUnion(details.steps[step].functions) }
      case nil: break
      }
    }
    let symbols = Symbols(of: functions, in: details.images)
    texts = meanings.map { meaning in meaning.flatMap { text($0, details, symbols) } }
  }

  private static func turns(_ details: StepDetails, _ record: RunRecord) -> [Turn] {
    var turns: [Turn] = []
    for (index, detail) in details.steps.enumerated() {
      if let actor = detail.actor {
        for (place, queued) in detail.queue.enumerated() {
          turns.append(
            Turn(
              position: (index, place), actor: actor, task: queued.task, functions: queued.functions
            ))
        }
      } else if detail.isOnMain {
        turns.append(
          Turn(
            position: (index, 0), actor: -1, task: record.steps[index].task,
            functions: detail.functions))
      }
    }
    return turns
  }

  private func meaning(of constraint: Constraint, _ turns: [Turn]) -> Meaning? {
    let record = failure.record
    guard let first = record.steps.firstIndex(of: constraint.first),
      let second = record.steps.firstIndex(of: constraint.second)
    else { return nil }
    let (one, other) = (constraint.first.task, constraint.second.task)
    if constraint.first.isWake || constraint.second.isWake || one == other {
      return .steps(first, second)
    }
    // A drain of an actor is named after the task that was first in its queue.
    let early = turns.filter { $0.task == one && $0.position.step >= first }
    let late = turns.filter { $0.task == other && $0.position.step >= second }
    for turn in early {
      guard let next = late.first(where: { $0.actor == turn.actor && turn.isBefore($0) }) else {
        continue
      }
      let earlier = turns.last {
        $0.task == other && $0.actor == turn.actor && $0.isBefore(next)
      }
      if let earlier, earlier.isBefore(turn) { return .between(earlier, turn, next) }
    }
    for turn in early {
      if let next = late.first(where: { $0.actor == turn.actor && turn.isBefore($0) }) {
        return .reaches(turn, next)
      }
    }
    return .steps(first, second)
  }

  private func text(_ meaning: Meaning, _ details: StepDetails, _ symbols: Symbols) -> String? {
    func name(_ task: Int) -> String { failure.tree.label(of: task, name: details.names[task]) }
    func actor(_ turn: Turn) -> String {
      turn.actor < 0 ? "the main actor" : details.name(ofActor: turn.actor)
    }
    func place(_ functions: [UInt]) -> String { symbols.placeWithLine(of: functions) ?? "" }
    switch meaning {
    case .between(let first, let other, let second):
      return """
        \(name(other.task)) runs on \(actor(other))\(place(other.functions)) between two turns of \
        \(name(first.task)) there\(places(first, second, symbols)): what holds in the first turn may not hold \
        in the second
        """
    case .reaches(let first, let second):
      return """
        \(name(first.task)) runs on \(actor(first))\(place(first.functions)) before \
        \(name(second.task))\(place(second.functions))
        """
    case .steps(let first, let second):
      let steps = failure.record.steps
      let time = details.steps[first].time.inSeconds
      let (one, other) = (name(steps[first].task), name(steps[second].task))
      switch (steps[first].isWake, steps[second].isWake) {
      case (true, true):
        let late = details.steps[second].time.inSeconds
        return time == late
          ? "the sleeps of \(one) and \(other) both end at \(time); that of \(one) ends first"
          : "the sleep of \(one) ends at \(time), before that of \(other), which is late"
      case (true, false): return "at \(time) the sleep of \(one) ends before \(other) goes on"
      case (false, true):
        return "at \(time) \(one) goes on before the sleep of \(other) ends, which is due"
      case (false, false):
        let places = [first, second].map { place(details.steps[$0].functions) }
        guard places != ["", ""], one != other else { return nil }
        return "\(one) goes on\(places[0]) before \(other)\(places[1])"
      }
    }
  }

  private func places(_ first: Turn, _ second: Turn, _ symbols: Symbols) -> String {
    let places = [first, second].compactMap { symbols.placeWithLine(of: $0.functions) }
    guard places.count == 2, places[0] != places[1] else { return places.first ?? "" }
    return "\(places[0]) and then\(places[1])"
  }
}

extension TaskTree {
  /// What a report calls a task: its name if it has one, and its place in the tree.
  func label(of task: Int, name: String?) -> String {
    if task == Self.test { return "test (0)" }
    if task == Self.outside { return "outside (1)" }
    let place = self.name(of: task)
    return name.map { "\"\($0)\" (\(place))" } ?? "task \(place)"
  }
}
