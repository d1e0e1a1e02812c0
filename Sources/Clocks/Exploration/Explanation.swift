import ClocksDrawing
import ClocksSearch
import ClocksSupport

/// The text of a failure that a search found.
struct Explanation {
  let failure: Exploration.Failure
  let limits: ScheduleSearch.Limits
  let replayForm: (String) -> String

  var text: String {
    var lines = [heading]
    let choices = failure.choices.prefix(Self.mostSentences)
    let constraints = failure.constraints.prefix(Self.mostSentences - choices.count)
    lines += choices.map { "  " + sentence($0) }
    let meanings = ConstraintMeaning(of: constraints, in: failure)
    for (constraint, meaning) in zip(constraints, meanings.texts) {
      lines.append("  " + sentence(constraint, withNames: meaning == nil))
      if let meaning { lines.append("    " + meaning) }
    }
    let more = count - choices.count - constraints.count
    if more > 0 { lines.append("  … and \(more.grouped) more") }
    if !meanings.differences.isEmpty {
      lines.append("  So in this run, unlike in one that passes:")
      lines += meanings.differences.map { "    " + $0 }
    }
    lines += lanes(with: meanings).map { "  " + $0 }
    let replays =
      failure.replays.all == 0
      ? "" : " (failed in \(failure.replays.same) of \(failure.replays.all) replays)"
    lines.append("Replay: \(replayForm(failure.token))\(replays)")
    if let divergence = failure.divergence {
      lines.append("Two runs of this schedule were not the same: they " + divergence.description)
    }
    return lines.joined(separator: "\n")
  }

  /// The number of choices and constraints. A failure that is not shrunk may have thousands.
  private var count: Int { failure.choices.count + failure.constraints.count }

  private var heading: String {
    let of = limits.count == .max ? "" : " of \(limits.count.grouped)"
    let passed = failure.number - 1
    let how =
      failure.number == 1 ? "first in, first out" : "\(passed.grouped) passed; \(failure.plan.name)"
    let decisions = failure.record.decisions.count
    let schedule = "Schedule \(failure.number.grouped)\(of) (\(how))."
    switch count {
    case 0:
      return "\(schedule) None of \(decisions) decisions matters: it fails first in, first out."
    // Without its only decision, the order is first in, first out, in which the test passed.
    case 1: return "\(schedule) 1 of \(decisions) decisions matters; undo it and it passes:"
    default:
      return failure.isMinimal
        ? "\(schedule) \(count) of \(decisions) decisions matter; undo any and this failure does not occur:"
        : "\(schedule) \(count) of \(decisions) decisions are enough for it:"
    }
  }

  /// Describes a constraint, for example `b.1 before a.3`; if wanted, with the names of those tasks that have one.
  private func sentence(_ constraint: Constraint, withNames: Bool) -> String {
    let (first, second) = (constraint.first, constraint.second)
    let tasks = first.task == second.task ? [first.task] : [first.task, second.task]
    return failure.tree.name(of: first) + " before " + failure.tree.name(of: second)
      + (withNames ? names(of: tasks) : "")
  }

  /// Returns for example `   (a is "writer")`; an empty text if none of the tasks has a name.
  private func names(of tasks: [Int]) -> String {
    let names = tasks.compactMap { task in
      failure.details?.names[task].map { "\(failure.tree.name(of: task)) is \"\($0)\"" }
    }
    return names.isEmpty ? "" : "   (\(names.joined(separator: ", ")))"
  }

  /// Describes a choice, for example `a.2 chose 3 of 1…5`: task `a` got option 3 in its step 2.
  private func sentence(_ choice: Choice) -> String {
    let text = failure.details?.choices[choice.name] ?? words(for: choice)
    if choice.isStall { return failure.tree.name(of: choice.name) + " " + text }
    let step = failure.record.decisions.first { $0.choice == choice.name }?.step
    let place =
      step.map { failure.tree.name(of: failure.record.steps[$0]) }
      ?? failure.tree.name(of: choice.name)
    return "\(place) \(text)\(names(of: [choice.name.task]))"
  }

  private func words(for choice: Choice) -> String {
    switch choice.name.kind {
    case .wake: "may wake early, while a job is under way (a stall)"
    case .job, .drain, .other: "begins \(Duration.nanoseconds(choice.index)) late (a stall)"
    case .fault: "a fault"
    case .random:
      "draws value \(choice.index) of \(ExploredRandomness.options) as its random number \(choice.name.number)"
    case .choice: "chose option \(choice.index + 1)"
    }
  }

  private static let mostSentences = 20
  private static let mostRows = 26
  private static let mostTasks = 4
  private static let mostOfQueue = 5

  /// The actors on which only one task runs. The order of turns on such an actor says nothing.
  private static func privateActors(_ details: StepDetails) -> Set<Int> {
    var users: [Int: Set<Int>] = [:]
    for step in details.steps {
      guard let actor = step.actor else { continue }
      users[actor, default: []].formUnion(step.queue.map(\.task))
    }
    return Set(users.filter { $0.value.count < 2 }.keys)
  }

  /// Returns a table of the steps around the constraints: a row for each step and each further task of a drain.
  ///
  /// - Parameter meanings: The sentences on the constraints. The steps that they mention have to be shown, too.
  private func lanes(with meanings: ConstraintMeaning) -> [String] {
    guard let details = failure.details, details.steps.count == failure.record.steps.count else {
      return []
    }
    let record = failure.record
    let hidden = Self.privateActors(details)
    var mentioned = meanings.steps.union(details.failingStep.map { [$0] } ?? [])
    let decisive = decisiveSteps
    // The meaning of a constraint includes the steps that resume its tasks.
    var resumers = record.resumers(of: decisive.union(mentioned))
    mentioned.formUnion(resumers.values)
    let (shown, leftOut) = rows(details, decisive, mentioned, hidden)
    /// Returns those tasks in the queue of a drain that have rows, and the number of the other tasks in it.
    func queue(_ detail: StepDetails.Detail) -> (shown: [(task: Int, functions: [UInt])], more: Int)
    {
      let all = detail.queue
      guard all.count > Self.mostOfQueue else { return (all, 0) }
      let mentioned = all.dropFirst().filter { meanings.tasks.contains($0.task) }
      let shown = all.prefix(1) + mentioned.prefix(Self.mostOfQueue - 2)
      return (Array(shown), all.count - shown.count)
    }
    let tasks = Set(
      shown.flatMap { [record.steps[$0].task] + queue(details.steps[$0]).shown.map(\.task) }
    ).sorted { failure.tree.name(of: $0) < failure.tree.name(of: $1) }
    let actors = Set(shown.compactMap { details.steps[$0].actor }).subtracting(hidden).sorted()
    let laneOfTask = Dictionary(uniqueKeysWithValues: zip(tasks, 0...))
    let laneOfActor = Dictionary(uniqueKeysWithValues: zip(actors, tasks.count...))
    var table = LaneTable(
      lanes: tasks.map { failure.tree.label(of: $0, name: details.names[$0]) }
        + actors.map(details.name))
    resumers.merge(
      record.resumers(of: shown).filter { laneOfTask[record.steps[$0.value].task] == nil }
    ) { first, _ in first }
    let decided = Dictionary(
      record.decisions.enumerated().filter {
        $0.element.chosen != 0 && decisive.contains($0.element.step)
      }.map { ($0.element.step, $0.offset + 1) }, uniquingKeysWith: { first, _ in first })
    let symbols = details.symbols()
    let times = InstantTexts(shown.map { details.steps[$0].time })
    var gaps = 0
    var next = 0
    /// Marks the steps before `index` that are left out, and have no mark yet.
    func addGap(before index: Int) {
      let count = leftOut.count { next <= $0 && $0 < index }
      next = index
      guard count > 0 else { return }
      gaps += 1
      table.rows.append(
        LaneTable.Row(time: "…", remark: count == 1 ? "… 1 step" : "… \(count) steps"))
    }
    for index in shown {
      addGap(before: index)
      let step = record.steps[index]
      let detail = details.steps[index]
      let lane = laneOfTask[step.task] ?? 0
      var row = LaneTable.Row(time: times[detail.time])
      row.cells[lane] = cell(step, detail, symbols)
      let remarks = [
        decided[index].map { "decision \($0)" }, index == details.failingStep ? "fails here" : nil,
        resumers[index].map { resumer($0, hasLane: laneOfTask[record.steps[$0].task] != nil) },
      ].compactMap(\.self)
      if !remarks.isEmpty { row.remark = "◀ " + remarks.joined(separator: ", ") }
      guard let actor = detail.actor, let to = laneOfActor[actor], !detail.queue.isEmpty else {
        table.rows.append(row)
        continue
      }
      let (first, more) = queue(detail)
      for (place, queued) in first.enumerated() {
        let from = laneOfTask[queued.task] ?? lane
        let name = failure.tree.name(of: queued.task)
        if place > 0 { row = LaneTable.Row(time: row.time, [from: name]) }
        row.arrow = (from, to)
        row.cells[to] =
          name + (symbols.lineAndPlace(of: queued.functions).map { " \($0)" } ?? "")
        table.rows.append(row)
      }
      if more > 0 { table.rows.append(LaneTable.Row(time: row.time, [to: "… \(more) more"])) }
    }
    addGap(before: record.steps.count)
    var lines = table.lines(width: 118, limit: Self.mostRows + 6 + gaps)
    if let file = symbols.commonFile?.file { lines.append("Lines without a file are in \(file).") }
    guard !leftOut.isEmpty else { return lines }
    let count = leftOut.count == 1 ? "1 step is" : "\(leftOut.count.grouped) steps are"
    return lines + [
      "\(count) left out of this table. The picture that CLOCKS_TRACE=FOLDER writes shows the whole run."
    ]
  }

  /// Returns for example `resumed by c.4`; `in` for the drain of an actor in which several tasks run.
  private func resumer(_ index: Int, hasLane: Bool) -> String {
    let step = failure.record.steps[index]
    let isShared = failure.details.map { $0.steps[index].queue.count > 1 } ?? false
    let name = hasLane ? nil : failure.details?.names[step.task].map { " \"\($0)\"" }
    return "resumed \(isShared ? "in" : "by") \(failure.tree.name(of: step))\(name ?? "")"
  }

  private func cell(
    _ step: ScheduleStep, _ detail: StepDetails.Detail, _ symbols: Symbols
  ) -> String {
    let name = failure.tree.name(of: step)
    if let callback = failure.details?.callbacks[step] { return "\(name) \(callback)" }
    if step.isWake { return "\(name) wakes" }
    let place = symbols.lineAndPlace(of: detail.functions).map { " \($0)" } ?? ""
    return name + (detail.isOnMain ? " on main" : "") + place
      + detail.choices.map { " \($0)" }.joined(separator: ",")
  }

  /// The numbers of the steps that the constraints name, and of those in which the failure's choices were made.
  private var decisiveSteps: Set<Int> {
    let record = failure.record
    let choosing = Set(failure.choices.map(\.name))
    let choices = record.decisions.filter { $0.choice.map(choosing.contains) ?? false }.map(\.step)
    let named = Set(failure.constraints.flatMap { [$0.first, $0.second] })
    return Set(choices).union(record.steps.indices.filter { named.contains(record.steps[$0]) })
  }

  /// Returns the steps to show: those of the constraints, and the most important ones near them. Also returns those for
  /// which there is no room.
  private func rows(
    _ details: StepDetails, _ decisive: Set<Int>, _ mentioned: Set<Int>, _ hidden: Set<Int>
  ) -> (shown: [Int], leftOut: [Int]) {
    let record = failure.record
    let wanted = decisive.union(mentioned)
    let all = record.steps.indices.filter { index in
      wanted.contains(index) || !(details.steps[index].actor.map(hidden.contains) ?? false)
    }
    func count(_ index: Int) -> Int {
      guard let actor = details.steps[index].actor, !hidden.contains(actor) else { return 1 }
      return min(max(1, details.steps[index].queue.count), Self.mostOfQueue)
    }
    guard all.reduce(0, { $0 + count($1) }) > Self.mostRows else { return (all, []) }
    guard !wanted.isEmpty else {
      return (Array(all.suffix(Self.mostRows)), all.dropLast(Self.mostRows))
    }
    var tasks = Set(wanted.map { record.steps[$0].task })
    // If there are few tasks, each has a lane. Otherwise only the tasks of the wanted steps have one.
    let allTasks = Set(record.steps.map(\.task))
    if allTasks.count <= Self.mostTasks { tasks = allTasks }
    /// Ranks turns on actors and ends of sleeps before other jobs. Returns `nil` if the step's task has no lane.
    func rank(_ index: Int) -> Int? {
      if decisive.contains(index) { return 0 }
      if mentioned.contains(index) { return 1 }
      let detail = details.steps[index]
      guard tasks.contains(record.steps[index].task) else { return nil }
      return detail.actor != nil || detail.isOnMain || record.steps[index].isWake ? 2 : 3
    }
    func distance(_ index: Int) -> Int { wanted.map { abs($0 - index) }.min() ?? 0 }
    var room = Self.mostRows
    var shown: Set<Int> = []
    let order = all.compactMap { index in
      rank(index).map { (index: index, rank: $0, distance: distance(index)) }
    }.sorted { ($0.rank, $0.distance, $0.index) < ($1.rank, $1.distance, $1.index) }
    for (index, rank, distance) in order where rank < 2 || distance <= 12 {
      guard room > 0 else { break }
      room -= count(index)
      shown.insert(index)
    }
    return (shown.sorted(), all.filter { !shown.contains($0) })
  }

  /// - Parameter difference: How two runs first in, first out differ.
  static func notDeterministic(_ difference: String) -> String {
    """
    The test does not behave the same in two runs of one order, so a failing order could not be replayed: two \
    runs first in, first out \(difference)
    """
  }

  /// Returns how a run that passed differs from the schedule of its token; `nil` if they do not differ.
  static func isNotWhatItWas(
    _ token: ScheduleToken, _ text: String, _ run: ScheduleRun
  ) -> String? {
    let happened = Set(run.record.steps).union(run.record.decisions.compactMap(\.choice))
    let missing =
      (token.choices.map(\.name) + token.constraints.flatMap { [$0.first, $0.second] }).filter {
        !happened.contains($0)
      }
    let toDo = """
      The token belongs to another test, or the test or its code has changed since: search again with \
      `.schedules`.
      """
    if !missing.isEmpty {
      let names = missing.map(run.tree.name).joined(separator: ", ")
      return "The schedule \"\(text)\" is no longer possible: \(names) did not come. \(toDo)"
    }
    if run.record.check == token.trace { return nil }
    let found = ScheduleToken(
      choices: token.choices, constraints: token.constraints, trace: run.record.check)
    return """
      The schedule "\(text)" is not the order that was recorded: its steps came as in \
      "\(found.text(run.tree))", and the test passed. \(toDo)
      """
  }
}
