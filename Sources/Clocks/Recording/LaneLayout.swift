/// Where everything of a table of lanes stands, on a page of characters.
struct LaneLayout {
  private typealias Row = LaneTable.Row

  private static let gap = 2
  /// The least number of columns of a lane; with fewer there is nothing to be read.
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

    let used = lanes.indices.filter { lane in rows.contains { $0.mentions(lane) } }
    let most = max(1, room / (Self.narrowest + Self.gap))
    let kept = used.count <= most ? used : Self.busiest(used, in: rows, most - 1)
    (names, self.rows) = Self.fold(lanes, rows, into: kept, isComplete: kept.count == used.count)
    widths = Self.widths(names, self.rows, room: room)
  }

  /// The lanes in which most happens, in their order.
  private static func busiest(_ lanes: [Int], in rows: [Row], _ count: Int) -> [Int] {
    let counted = lanes.map { lane in (lane, rows.count { $0.mentions(lane) }) }
    return counted.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(count).map(\.0).sorted()
  }

  /// Gives the lanes that are kept their places, and puts all others into one behind them.
  private static func fold(
    _ lanes: [String], _ rows: [Row], into kept: [Int], isComplete: Bool
  ) -> ([String], [Row]) {
    let places = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
    let names = kept.map { lanes[$0].printable } + (isComplete ? [] : ["others"])
    func place(_ lane: Int) -> Int? {
      lanes.indices.contains(lane) ? places[lane] ?? kept.count : nil
    }
    return (
      names,
      rows.map { row in
        var folded = Row(time: row.time, remark: row.remark)
        for (lane, text) in row.cells.sorted(by: { $0.key < $1.key }) {
          guard let place = place(lane) else { continue }
          let text = place < kept.count ? text : "\(lanes[lane].printable): \(text)"
          folded.cells[place] = folded.cells[place].map { "\($0), \(text)" } ?? text
        }
        if let arrow = row.arrow, let from = place(arrow.from), let to = place(arrow.to), from != to
        {
          folded.arrow = .init(from: from, to: to)
        }
        return folded
      }
    )
  }

  /// The width of each lane: what it needs, if there is room; else the widest become narrower.
  private static func widths(_ names: [String], _ rows: [Row], room: Int) -> [Int] {
    guard !names.isEmpty else { return [] }
    var widths = names.map(\.columns)
    for row in rows {
      for (lane, text) in row.cells {
        widths[lane] = max(widths[lane], text.columns + row.roomForArrow(in: lane))
      }
    }
    let total = room - gap * names.count
    // The greatest width of which all fit; O(lanes · log width).
    guard widths.reduce(0, +) > total else { return widths }
    var (low, high) = (1, widths.max() ?? 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if widths.reduce(0, { $0 + min($1, middle) }) <= total {
        low = middle
      } else {
        high = middle - 1
      }
    }
    widths = widths.map { min($0, low) }
    return widths
  }

  // MARK: - Drawing

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

  /// Draws an arrow from behind the text of its lane to before the next one's, or the other way round.
  private func draw(_ arrow: LaneTable.Arrow, _ row: Row, _ line: inout TextLine) {
    let (left, right) = (min(arrow.from, arrow.to), max(arrow.from, arrow.to))
    let text = row.cells[left].map { $0.cut(to: widths[left] - row.roomForArrow(in: left)).columns }
    let isToTheRight = arrow.from == left
    let first = start(of: left) + (text.map { $0 + 1 } ?? 0)
    let last = start(of: right) - (isToTheRight ? Self.gap + 1 : 2)
    guard first <= last else { return }
    for column in first...last { line.write("─", at: column) }
    // A text on the way stands free.
    for lane in row.cells.keys where lane > left && lane < right {
      line.write(" ", at: start(of: lane) - 1)
      line.write(
        " ", at: start(of: lane) + row.cells[lane]!.cut(to: widths[lane]).columns)
    }
    line.write(isToTheRight ? "▶" : "◀", at: isToTheRight ? last : first)
  }
}

extension LaneTable.Row {
  fileprivate func mentions(_ lane: Int) -> Bool {
    cells[lane] != nil || arrow?.from == lane || arrow?.to == lane
  }

  /// The columns that are kept free behind a lane's text for the beginning of an arrow.
  fileprivate func roomForArrow(in lane: Int) -> Int {
    guard let arrow, lane == min(arrow.from, arrow.to), cells[lane] != nil else { return 0 }
    return 3
  }
}
