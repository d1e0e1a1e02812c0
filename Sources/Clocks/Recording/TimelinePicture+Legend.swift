extension TimelinePicture {
  /// Says what the colours and signs mean that are in the picture.
  struct Legend {
    private struct Entry {
      var sign: String
      var words: String
      var x = 0.0
      var row = 0
    }

    private var entries: [Entry] = []
    private static let rowHeight = 20.0

    var height: Double { Double((entries.last?.row ?? -1) + 1) * Self.rowHeight + 8 }

    init(_ picture: TimelinePicture, width: Double) {
      let history = picture.history
      if history.jobs.contains(where: { $0.actor == nil }) { add("job", "a job") }
      for actor in picture.actorsInUse { add("job a\(actor % 8)", history.actors[actor]) }
      let ends = Set(history.sleeps.map(\.how))
      if ends.contains(.woken) { add("sleep woken", "sleep") }
      if ends.contains(.cancelled) { add("sleep cancelled", "cancelled sleep") }
      if ends.contains(.pending) { add("sleep pending", "sleep that has not ended") }
      if !history.absences.isEmpty { add("away", "runs unseen") }
      let links = Set(history.links.map(\.kind))
      if links.contains(.created) { add("created", "creates a task") }
      if picture.hasWords {
        if links.contains(.resumed) { add("resumed", "has it go on") }
        if links.contains(.cancelled) { add("cancelled", "cancels it") }
      }
      if !history.marks.isEmpty { add("mark", "mark") }
      place(in: width)
    }

    private mutating func add(_ sign: String, _ words: String) {
      entries.append(Entry(sign: sign, words: words))
    }

    private mutating func place(in width: Double) {
      var (x, row) = (20.0, 0)
      for index in entries.indices {
        let room = 20 + min(entries[index].words.printable.room(size: 11), 240) + 18
        if x + room > width - 10, x > 20 {
          x = 20
          row += 1
        }
        entries[index].x = x
        entries[index].row = row
        x += room
      }
    }

    func draw(_ text: inout SVGText, y start: Double) {
      for entry in entries {
        let y = start + Double(entry.row) * Self.rowHeight
        let (x, sign) = (entry.x, entry.sign)
        switch sign {
        case "created", "resumed", "cancelled":
          text.line(sign, x + 7, y - 7, x + 7, y + 6)
          text.path("\(sign) head", "M\((x + 3).svg) \((y + 2).svg)l4 4l4 -4")
        case "mark":
          text.path(sign, "M\((x + 3.5).svg) \(y.svg)l3.5 -3.5l3.5 3.5l-3.5 3.5z")
        case "away":
          text.line(sign, x, y, x + 14, y)
        case _ where sign.hasPrefix("sleep"):
          text.rect(sign, x, y - 5, 14, 10, radius: 4)
        default:
          text.rect(sign, x + 2.5, y - 7, 9, 14, radius: 2)
        }
        text.words("faint", x + 20, y + 4, entry.words, size: 11, room: 240)
      }
    }
  }

  static let style = """
      <style>
        .ground { fill: #ffffff; }
        text { fill: #1f2328; }
        .title { font-weight: 600; }
        .faint, .time, .unnamed { fill: #59636e; }
        .length { fill: #59636e; }
        .said { fill: #6639ba; stroke: #ffffff; stroke-width: 3; paint-order: stroke; }
        path { fill: none; }
        .axis { stroke: #818b98; }
        .instant { fill: #818b98; fill-opacity: .1; }
        .life { stroke: #818b98; stroke-opacity: .6; }
        .sleep { fill: #d1d9e0; stroke: #818b98; stroke-width: .6; }
        .sleep.cancelled { fill: #ffebe9; stroke: #cf222e; }
        .sleep.pending { fill: none; stroke-dasharray: 3 2; }
        .cross { stroke: #cf222e; stroke-width: 1.6; stroke-linecap: round; }
        .away { stroke: #9a6700; stroke-width: 3; stroke-dasharray: 2 2; }
        path.created { stroke: #818b98; }
        path.resumed { stroke: #1a7f37; }
        path.cancelled { stroke: #cf222e; }
        .head { stroke-linecap: round; stroke-linejoin: round; }
        .mark { fill: #8250df; }
        .job { fill: #57606a; }
        .a0 { fill: #0969da; } .a1 { fill: #bf3989; } .a2 { fill: #1a7f37; } .a3 { fill: #bc4c00; }
        .a4 { fill: #0e7490; } .a5 { fill: #9a6700; } .a6 { fill: #8250df; } .a7 { fill: #a40e26; }
        @media (prefers-color-scheme: dark) {
          .ground { fill: #0d1117; }
          text { fill: #f0f6fc; }
          .faint, .time, .unnamed, .length { fill: #9198a1; }
          .said { fill: #b48bff; stroke: #0d1117; }
          .sleep { fill: #2a313c; stroke: #656c76; }
          .sleep.cancelled { fill: #3c1618; stroke: #f85149; }
          .cross { stroke: #f85149; }
          path.resumed { stroke: #3fb950; }
          path.cancelled { stroke: #f85149; }
          .mark { fill: #a371f7; }
          .job { fill: #9198a1; }
          .a0 { fill: #4493f8; } .a1 { fill: #db61a2; } .a2 { fill: #3fb950; } .a3 { fill: #db6d28; }
          .a4 { fill: #39c5cf; } .a5 { fill: #d29922; } .a6 { fill: #a371f7; } .a7 { fill: #ff7b72; }
        }
      </style>
    """
}
