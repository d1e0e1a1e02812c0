import ClocksSupport

extension TimelinePicture {
  /// The picture as SVG, for light and dark pages.
  package var svg: String {
    var text = SVGText()
    let width = max(right + 24, 640)
    let legend = PictureLegend(self, width: width)
    let height = bottom + 18 + legend.height
    text.rect("ground", 0, 0, width, height, radius: 8)
    text.words("title", 20, 28, title, size: 15, room: width - 40)
    text.words("faint", 20, 47, summary, size: 12, room: width - 40)
    drawAxis(&text)
    drawNames(&text)
    drawLinks(&text)
    for span in history.spans { draw(span, &text) }
    drawJobs(&text)
    drawMarks(&text)
    legend.draw(&text, y: bottom + 22)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.svg) \(height.svg)" \
      width="\(width.svg)" height="\(height.svg)" \
      font-family="-apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12" role="img">
        <title>\(title.escaped)</title>
        <desc>\(summary.escaped). A lane for each task, virtual time from left to right.</desc>
      \(SVGText.style)
      \(text.text)</svg>

      """
  }

  private var summary: String {
    let passed = history.end.time.since(history.start)
    let tasks = history.tasks.count == 1 ? "1 task" : "\(history.tasks.count.grouped) tasks"
    let events = history.eventCount == 1 ? "1 event" : "\(history.eventCount.grouped) events"
    var summary = "\(passed.inSeconds) of virtual time, \(tasks), \(events)"
    if history.missingEvents > 0 {
      summary += "; the first \(history.missingEvents.grouped) are not shown"
    }
    if lanesLeftOut > 0 {
      summary += lanesLeftOut == 1 ? "; 1 task is" : "; \(lanesLeftOut.grouped) tasks are"
      summary += " not shown"
    }
    return summary
  }

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
      let x = (before.to + instant.from) / 2
      text.rect("ground", x - 3, y - 4, 6, 8)
      text.path("axis", "M\((x - 5).svg) \((y + 4).svg)l4 -8M\((x + 1).svg) \((y + 4).svg)l4 -8")
    }
    drawTimes(&text, y - 6)
  }

  /// Adds the times of the first and the last instant, and of those between for which there is room.
  private func drawTimes(_ text: inout SVGText, _ y: Double) {
    guard let last = axis.instants.last else { return }
    let times = InstantTexts(axis.instants.map(\.time))
    func label(_ instant: TimeAxis.Instant) -> (words: String, from: Double, to: Double) {
      let words = times[instant.time]
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

  private func drawNames(_ text: inout SVGText) {
    for (task, depth) in lanes {
      guard let y = y(task) else { continue }
      let indent = Double(depth) * 12
      let task = history.tasks[task]
      text.words(
        task.name == nil ? "unnamed" : "name", 20 + indent, y + fontSize * 0.36, task.title,
        size: fontSize, room: gutter - indent)
      text.line("life", axis.x(task.first), y, axis.x(task.last), y)
    }
  }

  private func drawLinks(_ text: inout SVGText) {
    for link in history.links where hasWords || link.kind == .created {
      guard let from = y(link.from), let to = y(link.to) else { continue }
      let x = axis.x(link.at)
      let reach = laneHeight * 0.22
      let end = to + (to > from ? -reach : reach)
      let head = min(4, laneHeight * 0.16)
      let back = (end + (to > from ? -head : head)).svg
      text.line("\(link.kind)", x, from, x, end)
      text.path(
        "\(link.kind) head",
        "M\((x - head).svg) \(back)L\(x.svg) \(end.svg)L\((x + head).svg) \(back)")
    }
  }

  private func draw(_ span: History.Span, _ text: inout SVGText) {
    guard let y = y(span.task) else { return }
    let task = history.tasks[span.task].title
    if span.kind == .external {
      let from = axis.x(span.begin)
      let to = max(axis.x(span.end), from + axis.step / 2)
      return text.line("external", from, y, to, y, title: "\(task): \(span.kind.words)")
    }
    let height = laneHeight * (laneHeight > 30 ? 0.3 : 0.42)
    let from = axis.x(span.begin) + axis.step / 2
    let to = max(axis.x(span.end) - axis.step / 2, from + 1)
    let deadline = span.deadline.map { " until \($0.inSeconds)" } ?? ""
    text.rect(
      "sleep \(span.kind)", from, y - height / 2, to - from, height, radius: min(height / 2, 4),
      title: "\(task): sleeps\(deadline), \(span.kind.words)")
    if span.kind == .cancelled {
      let reach = min(3.5, height / 2)
      let size = (2 * reach).svg
      text.path(
        "cross",
        "M\((to - reach).svg) \((y - reach).svg)l\(size) \(size)m0 -\(size)l-\(size) \(size)")
    }
    let length = (span.deadline ?? span.end.time).since(span.begin.time).inSeconds
    let room = to - from - (span.kind == .cancelled ? 16 : 8)
    if hasWords, length.room(size: 9) <= room {
      let x = from + 4 + (room - length.room(size: 9)) / 2
      text.words("length", x, y + 3.2, length, size: 9)
    }
  }

  private func drawJobs(_ text: inout SVGText) {
    let height = laneHeight * (laneHeight > 30 ? 0.46 : 0.64)
    let width = max(axis.step * 0.72, hasWords ? 1.5 : 1)
    // If jobs are less than two points apart, jobs that would cover each other are drawn as one.
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

  private func drawMarks(_ text: inout SVGText) {
    var byLane: [Int: [History.Mark]] = [:]
    for mark in history.marks {
      // Marks from outside the test's tasks are in the first lane.
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
        text.diamond("mark", x, middle, reach, title: mark.text)
        guard hasWords else { continue }
        let next = index + 1 < marks.count ? axis.x(marks[index + 1].at) - 8 : right + 16
        free = write(mark, &text, x: x, y: middle + 3.5, from: free, to: next)
      }
    }
  }

  /// Adds a mark's text to the right of the mark, or to the left if there is room only there. Returns where room
  /// for the next text begins.
  private func write(
    _ mark: History.Mark, _ text: inout SVGText, x: Double, y: Double, from: Double, to: Double
  ) -> Double {
    let needed = mark.text.printable.room(size: 10)
    let (before, behind) = (x - 6 - from, to - x - 6)
    if needed > behind, needed <= before {
      text.words("said", x - 6 - needed, y, mark.text, size: 10)
      return x + 8
    }
    // A cut text of a few characters would be useless; the diamond's title has the full text.
    guard behind >= 30 || needed <= behind else { return x + 8 }
    text.words("said", x + 6, y, mark.text, size: 10, room: behind)
    return x + 6 + min(needed, behind) + 8
  }
}

extension History.Span.Kind {
  fileprivate var words: String {
    switch self {
    case .woken: "and wakes"
    case .cancelled: "and is cancelled"
    case .pending: "and still sleeps at the end"
    case .external: "runs externally"
    }
  }
}

private struct PictureLegend {
  private struct Entry {
    var sign: String
    var words: String
    var x: Double
    var row: Int
  }

  private static let rowHeight = 20.0
  private let width: Double
  private var entries: [Entry] = []
  /// The place of the next entry.
  private var x = 20.0
  private var row = 0

  var height: Double { Double((entries.last?.row ?? -1) + 1) * Self.rowHeight + 8 }

  init(_ picture: TimelinePicture, width: Double) {
    self.width = width
    let history = picture.history
    if history.jobs.contains(where: { $0.actor == nil }) { add("job", "a job") }
    let jobs = history.jobs.filter { picture.places[$0.task] != nil }
    for actor in Set(jobs.compactMap(\.actor)).sorted() {
      add("job a\(actor % 8)", history.actors[actor])
    }
    let spans = Set(history.spans.map(\.kind))
    if spans.contains(.woken) { add("sleep woken", "sleep") }
    if spans.contains(.cancelled) { add("sleep cancelled", "cancelled sleep") }
    if spans.contains(.pending) { add("sleep pending", "sleep that has not ended") }
    if spans.contains(.external) { add("external", "runs externally") }
    let links = Set(history.links.map(\.kind))
    if links.contains(.created) { add("created", "creates a task") }
    if picture.hasWords, links.contains(.resumed) { add("resumed", "resumes it") }
    if picture.hasWords, links.contains(.cancelled) { add("cancelled", "cancels it") }
    if !history.marks.isEmpty { add("mark", "mark") }
  }

  private mutating func add(_ sign: String, _ words: String) {
    let room = 20 + min(words.printable.room(size: 11), 240) + 18
    if x + room > width - 10, x > 20 {
      x = 20
      row += 1
    }
    entries.append(Entry(sign: sign, words: words, x: x, row: row))
    x += room
  }

  func draw(_ text: inout SVGText, y start: Double) {
    for entry in entries {
      let y = start + Double(entry.row) * Self.rowHeight
      let (x, sign) = (entry.x, entry.sign)
      switch sign {
      case "created", "resumed", "cancelled":
        text.line(sign, x + 7, y - 7, x + 7, y + 6)
        text.path("\(sign) head", "M\((x + 3).svg) \((y + 2).svg)l4 4l4 -4")
      case "mark": text.diamond(sign, x + 7, y, 3.5)
      case "external": text.line(sign, x, y, x + 14, y)
      case _ where sign.hasPrefix("sleep"): text.rect(sign, x, y - 5, 14, 10, radius: 4)
      default: text.rect(sign, x + 2.5, y - 7, 9, 14, radius: 2)
      }
      text.words("faint", x + 20, y + 4, entry.words, size: 11, room: 240)
    }
  }
}
