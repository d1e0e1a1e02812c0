import ClocksSupport

/// A table of events as text: a row for each event, time on the left, a lane for each task.
///
/// ```text
/// time  "a"             "b"             ImageCache
/// 0 s   image(for:) ─────────────────▶  miss
/// 0 s                   image(for:) ─▶  miss        ◀ decision 17
/// 1 s   stores ──────────────────────▶  store
/// ```
///
/// Texts that do not fit are cut with an ellipsis, and lanes without room share the last one. Characters
/// that would upset a terminal are replaced. Wide characters count as two columns.
package struct LaneTable: Sendable {
  package struct Row: Sendable {
    package var time: String
    package var cells: [Int: String]
    /// An arrow from one lane to another.
    package var arrow: (from: Int, to: Int)?
    /// The text to the right of all lanes.
    package var remark: String

    package init(
      time: String, _ cells: [Int: String] = [:], arrow: (from: Int, to: Int)? = nil,
      remark: String = ""
    ) {
      self.time = time
      self.cells = cells
      self.arrow = arrow
      self.remark = remark
    }
  }

  package var lanes: [String]
  /// The events, in order. Cells and arrows of lanes that do not exist are left out.
  package var rows: [Row]
  /// The number of events before those in `rows`, which the table only counts.
  package var hiddenRows = 0

  package init(lanes: [String], rows: [Row] = []) {
    self.lanes = lanes
    self.rows = rows
  }

  /// Returns the table as lines of at most `width` columns. O(n log n) with n cells.
  ///
  /// Lanes in which nothing happens are left out. If there are more than `limit` lines, the first events
  /// are left out, and a line gives their number. Smaller arguments are raised to 40 columns and 3 lines.
  package func lines(width: Int = 100, limit: Int = 40) -> [String] {
    let limit = max(limit, 3)
    let isCut = hiddenRows > 0 || rows.count + 1 > limit
    let shown = isCut ? rows.suffix(limit - 2) : rows[...]
    let layout = LaneLayout(lanes: lanes, rows: shown.map(\.printable), width: max(width, 40))
    var lines = layout.lines
    let hidden = hiddenRows + rows.count - shown.count
    if hidden > 0 {
      let events = hidden == 1 ? "event" : "events"
      lines.insert("… \(hidden.grouped) earlier \(events)", at: 1)
    }
    return lines
  }
}

extension LaneTable.Row {
  fileprivate var printable: Self {
    Self(time: time.printable, cells.mapValues(\.printable), arrow: arrow, remark: remark.printable)
  }

  /// The lanes in which something happens.
  fileprivate var lanes: Set<Int> { Set(cells.keys).union(arrow.map { [$0.from, $0.to] } ?? []) }

  /// The columns that are kept free behind a lane's text for the beginning of an arrow.
  fileprivate func roomForArrow(in lane: Int) -> Int {
    guard let arrow, lane == min(arrow.from, arrow.to), cells[lane] != nil else { return 0 }
    return 3
  }
}

private struct LaneLayout {
  private typealias Row = LaneTable.Row

  private static let gap = 2
  /// The least width of a lane that can be read.
  private static let narrowest = 10

  private var names: [String]
  private var rows: [Row]
  private var widths: [Int]
  private let timeWidth: Int
  private let remarkWidth: Int

  init(lanes: [String], rows: [LaneTable.Row], width: Int) {
    timeWidth = min(max(4, rows.map(\.time.columns).max() ?? 0), width / 4)
    let remark = rows.map(\.remark.columns).max() ?? 0
    remarkWidth = min(remark, width / 3)
    let room = width - timeWidth - (remark == 0 ? 0 : remarkWidth + Self.gap)

    let used = Set(rows.flatMap(\.lanes)).filter(lanes.indices.contains).sorted()
    let most = max(1, room / (Self.narrowest + Self.gap))
    let kept = used.count <= most ? used : Self.busiest(used, in: rows, most - 1)
    (names, self.rows) = Self.fold(lanes, rows, into: kept, isComplete: kept.count == used.count)
    widths = Self.widths(names, self.rows, room: room)
  }

  /// Returns the lanes with the most events, in the order of `lanes`.
  private static func busiest(_ lanes: [Int], in rows: [Row], _ count: Int) -> [Int] {
    var counts: [Int: Int] = [:]
    for lane in rows.lazy.flatMap(\.lanes) { counts[lane, default: 0] += 1 }
    let counted = lanes.map { lane in (lane, counts[lane, default: 0]) }
    return counted.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(count).map(\.0).sorted()
  }

  /// Moves the kept lanes to the front, and joins all others into one behind them.
  private static func fold(
    _ lanes: [String], _ rows: [Row], into kept: [Int], isComplete: Bool
  ) -> ([String], [Row]) {
    let places = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
    let names = kept.map { lanes[$0].printable } + (isComplete ? [] : ["others"])
    func place(_ lane: Int) -> Int? {
      lanes.indices.contains(lane) ? places[lane] ?? kept.count : nil
    }
    let folded = rows.map { row in
      var folded = Row(time: row.time, remark: row.remark)
      for (lane, text) in row.cells.sorted(by: { $0.key < $1.key }) {
        guard let place = place(lane) else { continue }
        let text = place < kept.count ? text : "\(lanes[lane].printable): \(text)"
        folded.cells[place] = folded.cells[place].map { "\($0), \(text)" } ?? text
      }
      if let arrow = row.arrow, let from = place(arrow.from), let to = place(arrow.to), from != to {
        folded.arrow = (from, to)
      }
      return folded
    }
    return (names, folded)
  }

  /// Returns the widths that the lanes need. If there is too little room, the widest lanes become narrower.
  private static func widths(_ names: [String], _ rows: [Row], room: Int) -> [Int] {
    guard !names.isEmpty else { return [] }
    var widths = names.map(\.columns)
    for row in rows {
      for (lane, text) in row.cells {
        widths[lane] = max(widths[lane], text.columns + row.roomForArrow(in: lane))
      }
    }
    let total = room - gap * names.count
    guard widths.reduce(0, +) > total else { return widths }
    // The greatest limit with which all lanes fit; O(lanes · log width).
    let limits = 1...max(1, widths.max() ?? 1)
    let limit = limits.partitioned { limit in widths.reduce(0) { $0 + min($1, limit) } <= total }
    return widths.map { min($0, max(1, limit)) }
  }

  var lines: [String] {
    let header = Row(
      time: "time", Dictionary(uniqueKeysWithValues: names.enumerated().map { ($0, $1) }))
    return ([header] + rows).map(line)
  }

  private func start(of lane: Int) -> Int {
    timeWidth + widths[..<lane].reduce(0) { $0 + $1 + Self.gap } + Self.gap
  }

  private func line(_ row: Row) -> String {
    var line = TextLine()
    line.write(row.time.cut(to: timeWidth), at: 0)
    if let arrow = row.arrow { draw(arrow, row, &line) }
    for (lane, text) in row.cells {
      line.write(text.cut(to: widths[lane] - row.roomForArrow(in: lane)), at: start(of: lane))
    }
    line.write(row.remark.cut(to: remarkWidth), at: start(of: widths.count))
    return line.text
  }

  /// Draws an arrow between two lanes, from behind the left lane's text to before the right lane.
  private func draw(_ arrow: (from: Int, to: Int), _ row: Row, _ line: inout TextLine) {
    let (left, right) = (min(arrow.from, arrow.to), max(arrow.from, arrow.to))
    let text = row.cells[left].map { $0.cut(to: widths[left] - row.roomForArrow(in: left)).columns }
    let isToTheRight = arrow.from == left
    let first = start(of: left) + (text.map { $0 + 1 } ?? 0)
    let last = start(of: right) - (isToTheRight ? Self.gap + 1 : 2)
    guard first <= last else { return }
    for column in first...last { line.write("─", at: column) }
    // Spaces separate the arrow from the texts that it passes.
    for (lane, text) in row.cells where lane > left && lane < right {
      line.write(" ", at: start(of: lane) - 1)
      line.write(" ", at: start(of: lane) + text.cut(to: widths[lane]).columns)
    }
    line.write(isToTheRight ? "▶" : "◀", at: isToTheRight ? last : first)
  }
}

/// A line of text that is written column by column, in any order.
private struct TextLine {
  /// The character in each column. The second column of a wide character is empty.
  private var columns: [String] = []

  /// Writes `text` over the columns from `start` on.
  mutating func write(_ text: String, at start: Int) {
    var column = start
    for character in text {
      let width = character.columns
      guard width > 0 else { continue }
      while columns.count < column + width { columns.append(" ") }
      columns[column] = String(character)
      if width == 2 { columns[column + 1] = "" }
      column += width
    }
  }

  /// The line without trailing spaces.
  var text: String {
    let last = columns.lastIndex { $0 != " " }
    return last.map { columns[...$0].joined() } ?? ""
  }
}
