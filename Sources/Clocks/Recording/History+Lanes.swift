import ClocksSupport

extension History {
  /// What happened last, as lanes of text: a lane for each task, virtual time on the left.
  func lanes(width: Int = 100, limit: Int = 40) -> [String] {
    let shown = steps.suffix(max(limit, 3))
    // A lane for each task that is mentioned, in the order of the tasks.
    let used = Set(shown.flatMap { [$0.task, $0.by].compactMap(\.self) }).sorted()
    let places = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($1, $0) })
    var table = LaneTable(lanes: used.map { tasks[$0].label })
    table.rows = shown.map { step in row(step, places) }
    table.hiddenRows = missingEvents + earlierSteps + steps.count - shown.count
    return table.lines(width: width, limit: limit)
  }

  private func row(_ step: Step, _ places: [Int: Int]) -> LaneTable.Row {
    let lane = step.task.flatMap { places[$0] }
    let other = step.by.flatMap { places[$0] }
    var row = LaneTable.Row(time: step.time.inSeconds)
    guard let lane else {
      row.remark = words(step.kind)
      return row
    }
    row.cells[lane] = words(step.kind)
    if let other, other != lane { row.arrow = .init(from: other, to: lane) }
    return row
  }

  private func words(_ kind: Step.Kind) -> String {
    switch kind {
    case .created: "created"
    case .resumed: "resumed"
    case .runs(let actor): actor.map { "runs on \(actors[$0])" } ?? "runs"
    case .sleeps(let deadline): deadline.map { "sleeps until \($0.inSeconds)" } ?? "sleeps"
    case .wakes: "wakes"
    case .isCancelled: "cancelled"
    case .goesAway: "goes away"
    case .comesBack: "comes back"
    case .mark(let text): "● \(text)"
    case .fails: "✘ the failure"
    }
  }
}
