import ClocksSupport

extension TimelinePicture {
  /// The picture as SVG, for a light and for a dark page.
  var svg: String {
    var text = SVGText()
    let width = max(right + 24, 640)
    let legend = Legend(self, width: width)
    let height = bottom + 18 + legend.height
    text.rect("ground", 0, 0, width, height, radius: 8)
    drawHead(&text, width)
    drawAxis(&text)
    drawNames(&text)
    drawLinks(&text)
    drawSleeps(&text)
    drawAbsences(&text)
    drawJobs(&text)
    drawMarks(&text)
    legend.draw(&text, y: bottom + 22)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.svg) \(height.svg)" \
      width="\(width.svg)" height="\(height.svg)" \
      font-family="-apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12" role="img">
        <title>\(title.escaped)</title>
        <desc>\(summary.escaped). A lane for each task, virtual time from left to right.</desc>
      \(Self.style)
      \(text.text)</svg>

      """
  }

  private var summary: String {
    let passed = saturatingDifference(history.end.time, history.start)
    let tasks = history.tasks.count == 1 ? "1 task" : "\(history.tasks.count.grouped) tasks"
    let events =
      history.eventCount == 1 ? "1 event" : "\(history.eventCount.grouped) events"
    var summary = "\(passed.inSeconds) of virtual time, \(tasks), \(events)"
    if history.missingEvents > 0 {
      summary += "; the first \(history.missingEvents.grouped) are not shown"
    }
    if lanesLeftOut > 0 { summary += "; \(lanesLeftOut.grouped) tasks are not shown" }
    return summary
  }

  private func drawHead(_ text: inout SVGText, _ width: Double) {
    text.words("title", 20, 28, title, size: 15, room: width - 40)
    text.words("faint", 20, 47, summary, size: 12, room: width - 40)
  }

  // MARK: - Time

  private func drawAxis(_ text: inout SVGText) {
    guard !lanes.isEmpty else {
      return text.words("faint", 20, top + 18, "No task has run.", size: 12)
    }
    let y = top - 8
    for instant in axis.instants where instant.to - instant.from >= 1.5 {
      text.rect("instant", instant.from, y, instant.to - instant.from, bottom - y, radius: 2)
    }
    text.line("axis", left, y, right, y)
    for (before, instant) in zip(axis.instants, axis.instants.dropFirst())
    where instant.isCompressed {
      // Time is left out.
      let x = (before.to + instant.from) / 2
      text.rect("ground", x - 3, y - 4, 6, 8)
      text.path("axis", "M\((x - 5).svg) \((y + 4).svg)l4 -8M\((x + 1).svg) \((y + 4).svg)l4 -8")
    }
    drawTimes(&text, y - 6)
  }

  /// Writes the times of instants, as many as there is room for; the first and the last are sure of it.
  private func drawTimes(_ text: inout SVGText, _ y: Double) {
    guard let last = axis.instants.last else { return }
    func label(_ instant: TimeAxis.Instant) -> (words: String, from: Double, to: Double) {
      let words = instant.time.inSeconds
      let room = words.room(size: 11)
      let middle = (instant.from + instant.to) / 2
      let from = min(max(middle - room / 2, left - 30), max(right, left + room) - room + 16)
      return (words, from, from + room)
    }
    let end = label(last)
    var free = -Double.infinity
    for (index, instant) in axis.instants.enumerated() {
      let label = label(instant)
      let isLast = index == axis.instants.count - 1
      guard label.from >= free, isLast || index == 0 || label.to + 8 <= end.from else { continue }
      text.words("time", label.from, y, label.words, size: 11)
      free = label.to + 8
    }
  }

  // MARK: - Tasks

  private func drawNames(_ text: inout SVGText) {
    for (task, depth) in lanes {
      guard let y = y(task) else { continue }
      let indent = Double(depth) * 12
      let name = history.tasks[task].title
      text.words(
        history.tasks[task].name == nil ? "unnamed" : "name", 20 + indent, y + fontSize * 0.36,
        name,
        size: fontSize, room: gutter - indent)
      let (first, last) = (history.tasks[task].first, history.tasks[task].last)
      text.line("life", axis.x(first), y, axis.x(last), y)
    }
  }

  private func drawLinks(_ text: inout SVGText) {
    for link in history.links where hasWords || link.kind == .created {
      guard let from = y(link.from), let to = y(link.to) else { continue }
      let x = axis.x(link.at)
      let reach = laneHeight * 0.22
      let end = to + (to > from ? -reach : reach)
      let head = min(4, laneHeight * 0.16)
      let back = to > from ? -head : head
      text.line("\(link.kind)", x, from, x, end)
      text.path(
        "\(link.kind) head",
        "M\((x - head).svg) \((end + back).svg)L\(x.svg) \(end.svg)L\((x + head).svg) \((end + back).svg)"
      )
    }
  }

  private func drawSleeps(_ text: inout SVGText) {
    let height = laneHeight * (laneHeight > 30 ? 0.3 : 0.42)
    for sleep in history.sleeps {
      guard let y = y(sleep.task) else { continue }
      let from = axis.x(sleep.begin) + axis.step / 2
      let to = max(axis.x(sleep.end) - axis.step / 2, from + 1)
      let deadline = sleep.deadline.map { " until \($0.inSeconds)" } ?? ""
      let title = "\(history.tasks[sleep.task].title): sleeps\(deadline), \(sleep.how.words)"
      text.rect(
        "sleep \(sleep.how)", from, y - height / 2, to - from, height, radius: min(height / 2, 4),
        title: title)
      if sleep.how == .cancelled {
        let reach = min(3.5, height / 2)
        text.path(
          "cross",
          "M\((to - reach).svg) \((y - reach).svg)l\((2 * reach).svg) \((2 * reach).svg)"
            + "m0 -\((2 * reach).svg)l-\((2 * reach).svg) \((2 * reach).svg)")
      }
      let end = sleep.deadline ?? sleep.end.time
      let length = saturatingDifference(end, sleep.begin.time).inSeconds
      let room = to - from - (sleep.how == .cancelled ? 16 : 8)
      if hasWords, length.room(size: 9) <= room {
        let x = from + 4 + (room - length.room(size: 9)) / 2
        text.words("length", x, y + 3.2, length, size: 9)
      }
    }
  }

  private func drawAbsences(_ text: inout SVGText) {
    for absence in history.absences {
      guard let y = y(absence.task) else { continue }
      let from = axis.x(absence.begin)
      let to = max(axis.x(absence.end), from + axis.step / 2)
      text.path(
        "away", "M\(from.svg) \(y.svg)L\(to.svg) \(y.svg)",
        title: "\(history.tasks[absence.task].title): runs where it is not seen")
    }
  }

  private func drawJobs(_ text: inout SVGText) {
    let height = laneHeight * (laneHeight > 30 ? 0.46 : 0.64)
    let width = max(axis.step * 0.72, hasWords ? 1.5 : 1)
    // What would be drawn over is drawn once.
    var drawn: [Int: Double] = [:]
    for job in history.jobs {
      guard let y = y(job.task) else { continue }
      let x = axis.x(job.at) - width / 2
      if axis.step < 2, let last = drawn[job.task], x - last < 0.5 { continue }
      drawn[job.task] = x
      let actor = job.actor.map { ", on \(history.actors[$0])" } ?? ""
      text.rect(
        job.actor.map { "job a\($0 % 8)" } ?? "job", x, y - height / 2, width, height,
        radius: min(2, width / 3),
        title: "\(history.tasks[job.task].title), \(job.at.time.inSeconds)\(actor)")
    }
  }

  // MARK: - Marks

  private func drawMarks(_ text: inout SVGText) {
    var byLane: [Int: [History.Mark]] = [:]
    for mark in history.marks {
      // Whoever is no task of the test marks the first lane.
      let task = mark.task.flatMap { places[$0] == nil ? nil : $0 } ?? lanes.first?.task
      if let task { byLane[task, default: []].append(mark) }
    }
    for (task, marks) in byLane.sorted(by: { $0.key < $1.key }) {
      guard let y = y(task) else { continue }
      let middle = hasWords ? y - laneHeight * 0.42 : y
      let reach = min(3.5, laneHeight * 0.2)
      var free = left
      for (index, mark) in marks.enumerated() {
        let x = axis.x(mark.at)
        text.path(
          "mark",
          "M\((x - reach).svg) \(middle.svg)l\(reach.svg) -\(reach.svg)l\(reach.svg) \(reach.svg)"
            + "l-\(reach.svg) \(reach.svg)z", title: mark.text)
        guard hasWords else { continue }
        let next = index + 1 < marks.count ? axis.x(marks[index + 1].at) - 8 : right + 16
        free = write(mark, &text, x: x, y: middle + 3.5, from: free, to: next)
      }
    }
  }

  /// Writes what a mark says to the right of it, or to the left if it does not fit there and does here.
  ///
  /// - Returns: From where on there is room again.
  private func write(
    _ mark: History.Mark, _ text: inout SVGText, x: Double, y: Double, from: Double, to: Double
  ) -> Double {
    let needed = mark.text.printable.room(size: 10)
    let (before, behind) = (x - 6 - from, to - x - 6)
    if needed > behind, needed <= before {
      text.words("said", x - 6 - needed, y, mark.text, size: 10)
      return x + 8
    }
    // Fewer than a few characters say nothing; the title says all.
    guard behind >= 30 || needed <= behind else { return x + 8 }
    text.words("said", x + 6, y, mark.text, size: 10, room: behind)
    return x + 6 + min(needed, behind) + 8
  }
}

extension History.Sleep.End {
  fileprivate var words: String {
    switch self {
    case .woken: "and wakes"
    case .cancelled: "and is cancelled"
    case .pending: "and still sleeps at the end"
    }
  }
}
