import ClocksSearch
import ClocksSupport

/// Sentences that explain constraints of a failure, as far as the steps of its last run show their meaning.
///
/// A turn is one piece of a task that runs on an actor. A task may read state in one turn and rely on it in its
/// next turn. It fails if another task has a turn in between: the commonest bug of actors. A run does not show
/// what a turn reads or writes, so the sentences name only functions and lines.
struct ConstraintMeaning {
  private struct Turn {
    /// The number of the step, and the position of the turn among the turns of that step.
    var position: (step: Int, place: Int)
    /// The number of the actor; -1 for the main actor.
    var actor: Int
    var task: Int
    var functions: [UInt]
    /// The number of the turn among those of its task.
    var number: Int

    func isBefore(_ other: Turn) -> Bool { position < other.position }
  }

  private enum Meaning {
    case between(Turn, Turn, Turn)
    case reaches(Turn, Turn)
    case steps(Int, Int)
  }

  private let failure: Exploration.Failure
  private var turns: [Turn] = []
  /// For each constraint, a sentence that explains it, or `nil`.
  private(set) var texts: [String?]
  /// Sentences on other pairs of turns on one actor, whose order was the opposite in the run that passed.
  private(set) var differences: [String] = []
  /// The steps and the tasks that the texts mention.
  private(set) var steps: Set<Int> = []
  private(set) var tasks: Set<Int> = []

  init(of constraints: ArraySlice<Constraint>, in failure: Exploration.Failure) {
    self.failure = failure
    texts = constraints.map { _ in nil }
    guard let details = failure.details, details.steps.count == failure.record.steps.count else {
      return
    }
    turns = Self.turns(details, failure.record)
    let meanings = constraints.map(meaning)
    let reversals = reversals(besides: meanings)
    for meaning in meanings + reversals {
      let turns = Self.turns(of: meaning)
      steps.formUnion(turns.map(\.position.step))
      tasks.formUnion(turns.map(\.task))
      if case .steps(let first, let second) = meaning { steps.formUnion([first, second]) }
    }
    let symbols = details.symbols()
    differences = reversals.compactMap { text($0, details, symbols) }
    texts = meanings.map { meaning in meaning.flatMap { text($0, details, symbols) } }
  }

  private static func turns(of meaning: Meaning?) -> [Turn] {
    switch meaning {
    case .between(let first, let other, let second): [first, other, second]
    case .reaches(let first, let second): [first, second]
    case .steps, nil: []
    }
  }

  private static let mostDifferences = 3
  /// Pairs of turns are compared only in a run that has at most this number of turns.
  private static let mostTurns = 2_000

  /// Returns pairs of turns on one actor whose order was the opposite in the run that passed.
  private func reversals(besides meanings: [Meaning?]) -> [Meaning] {
    guard let passing = failure.passing, turns.count <= Self.mostTurns,
      passing.details.steps.count == passing.record.steps.count
    else { return [] }
    let passed = Self.turns(passing.details, passing.record)
    let places = Dictionary(
      uniqueKeysWithValues: passed.enumerated().map { ([$1.task, $1.number], $0) })
    /// Returns the index of the same turn in the run that passed; `nil` if that turn continued other functions.
    func place(_ turn: Turn) -> Int? {
      places[[turn.task, turn.number]].flatMap {
        passed[$0].functions == turn.functions ? $0 : nil
      }
    }
    func pair(_ first: Turn, _ second: Turn) -> [Int] { [first.task, second.task, first.actor] }
    var known: Set<[Int]> = []
    for turns in meanings.map(Self.turns(of:)) where !turns.isEmpty {
      known.insert(pair(turns[turns.count - 2], turns[turns.count - 1]))
    }
    var found: [Meaning] = []
    let at = turns.map(place)
    for (index, second) in turns.enumerated() {
      guard let late = at[index] else { continue }
      for earlier in 0..<index
      where turns[earlier].actor == second.actor && turns[earlier].task != second.task {
        guard let early = at[earlier], late < early,
          known.insert(pair(turns[earlier], second)).inserted
        else { continue }
        found.append(.reaches(turns[earlier], second))
      }
    }
    return Array(found.prefix(Self.mostDifferences))
  }

  private static func turns(_ details: StepDetails, _ record: RunRecord) -> [Turn] {
    var turns: [Turn] = []
    var counts: [Int: Int] = [:]
    for (index, detail) in details.steps.enumerated() {
      let onMain = [(task: record.steps[index].task, functions: detail.functions)]
      let queue = detail.actor != nil ? detail.queue : detail.isOnMain ? onMain : []
      for (place, queued) in queue.enumerated() {
        let number = counts[queued.task, default: 0]
        counts[queued.task] = number + 1
        turns.append(
          Turn(
            position: (index, place), actor: detail.actor ?? -1, task: queued.task,
            functions: queued.functions, number: number))
      }
    }
    return turns
  }

  private func meaning(of constraint: Constraint) -> Meaning? {
    let record = failure.record
    guard let first = record.steps.firstIndex(of: constraint.first),
      let second = record.steps.firstIndex(of: constraint.second)
    else { return nil }
    let (one, other) = (constraint.first.task, constraint.second.task)
    if constraint.first.isWake || constraint.second.isWake || one == other {
      return .steps(first, second)
    }
    // An actor drain is named after the task that was first in the queue, so the step may contain that task's turn.
    let early = turns.filter { $0.task == one && $0.position.step >= first }
    let late = turns.filter { $0.task == other && $0.position.step >= second }
    // The first actor on which both tasks run shows best what the constraint does.
    for turn in early {
      guard let next = late.first(where: { $0.actor == turn.actor && turn.isBefore($0) }) else {
        continue
      }
      let earlier = turns.last {
        $0.task == other && $0.actor == turn.actor && $0.isBefore(next)
      }
      if let earlier, earlier.isBefore(turn) { return .between(earlier, turn, next) }
      return .reaches(turn, next)
    }
    return .steps(first, second)
  }

  private func text(_ meaning: Meaning, _ details: StepDetails, _ symbols: Symbols) -> String? {
    func name(_ task: Int) -> String { failure.tree.label(of: task, name: details.names[task]) }
    func actor(_ turn: Turn) -> String {
      turn.actor < 0 ? "the main actor" : details.name(ofActor: turn.actor)
    }
    func place(_ functions: [UInt]) -> String { symbols.placeWithLine(of: functions) ?? "" }
    func place(_ turn: Turn) -> String {
      let equal = turns.filter {
        $0.task == turn.task && $0.actor == turn.actor && $0.functions == turn.functions
      }
      let number = equal.count { !turn.isBefore($0) }
      return place(turn.functions)
        + (equal.count > 1 && !turn.functions.isEmpty
          ? " (\(Self.ordinal(number)) of \(equal.count) times)" : "")
    }
    switch meaning {
    case .between(let first, let other, let second):
      let places = [place(first), place(second)].filter { !$0.isEmpty }
      return """
        \(name(other.task)) runs on \(actor(other))\(place(other)) between two turns of \(name(first.task)) \
        there\(places.joined(separator: " and then"))
        """
    case .reaches(let first, let second):
      return """
        \(name(first.task)) runs on \(actor(first))\(place(first)) before \(name(second.task))\(place(second))
        """
    case .steps(let first, let second):
      let steps = failure.record.steps
      let time = details.steps[first].time.inSeconds
      let callbacks = [first, second].map { details.callbacks[steps[$0]] }
      let names = zip([first, second], callbacks).map { step, callback in
        callback.map { "\($0) (\(failure.tree.name(of: steps[step])))" } ?? name(steps[step].task)
      }
      let (one, other) = (names[0], names[1])
      let sleep = callbacks.contains { $0 != nil } ? "delay" : "sleep"
      switch (steps[first].isWake, steps[second].isWake) {
      case (true, true):
        let late = details.steps[second].time.inSeconds
        return time == late
          ? "the \(sleep)s of \(one) and \(other) both end at \(time); that of \(one) ends first"
          : "the \(sleep) of \(one) ends at \(time), before that of \(other), which is late"
      case (true, false): return "at \(time) the \(sleep) of \(one) ends before \(other) goes on"
      case (false, true):
        return "at \(time) \(one) goes on before the \(sleep) of \(other) ends, which is due"
      case (false, false):
        let places = [first, second].map { place(details.steps[$0].functions) }
        // If turns on an actor come in another order, `differences` explains more than this sentence.
        guard places != ["", ""], one != other, differences.isEmpty else { return nil }
        return "\(one) goes on\(places[0]) before \(other)\(places[1])"
      }
    }
  }

  private static func ordinal(_ number: Int) -> String {
    switch (number % 10, number % 100) {
    case (1, let last) where last != 11: "\(number)st"
    case (2, let last) where last != 12: "\(number)nd"
    case (3, let last) where last != 13: "\(number)rd"
    default: "\(number)th"
    }
  }
}

extension TaskTree {
  /// Returns a task's label in reports: its path in the tree, and its name if it has one.
  func label(of task: Int, name: String?) -> String {
    if task == Self.test { return "test (0)" }
    if task == Self.outside { return "outside (1)" }
    let place = self.name(of: task)
    return name.map { "\(place) \"\($0)\"" } ?? "task \(place)"
  }
}
