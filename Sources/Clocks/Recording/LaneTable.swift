/// What happened, as text: a row for each event, time on the left, a lane for each task.
///
/// ```text
/// time  "a"             "b"             ImageCache
/// 0 s   image(for:) ─────────────────▶  miss
/// 0 s                   image(for:) ─▶  miss        ◀ decision 17
/// 1 s   stores ──────────────────────▶  store
/// ```
///
/// A value that knows nothing of where the events come from. Texts are cut with an ellipsis where they
/// do not fit; lanes for which there is no room share the last one. Characters that would upset a
/// terminal are replaced, and wide ones count as two columns.
package struct LaneTable: Hashable, Sendable {
  /// A line from one lane to another, with its head at the latter.
  package struct Arrow: Hashable, Sendable {
    package var from: Int
    package var to: Int

    package init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// An event.
  package struct Row: Hashable, Sendable {
    /// When it happened.
    package var time: String
    /// What is said in each lane, by the lane's index.
    package var cells: [Int: String]
    package var arrow: Arrow?
    /// What is said behind all lanes.
    package var remark: String

    package init(
      time: String, _ cells: [Int: String] = [:], arrow: Arrow? = nil, remark: String = ""
    ) {
      self.time = time
      self.cells = cells
      self.arrow = arrow
      self.remark = remark
    }
  }

  /// The names of the lanes, from left to right.
  package var lanes: [String]
  /// The events, in the order in which they happened. What they say of a lane that does not exist is
  /// left out.
  package var rows: [Row]
  /// The number of events before those, which are only counted.
  package var hiddenRows = 0

  package init(lanes: [String], rows: [Row] = []) {
    self.lanes = lanes
    self.rows = rows
  }

  /// The table as lines of at most `width` columns.
  ///
  /// Lanes in which nothing happens are left out. If there are more than `limit` lines, the first
  /// events are left out, and a line says how many. O(rows · lanes).
  ///
  /// - Parameters:
  ///   - width: The number of columns; at least 40.
  ///   - limit: The number of lines; at least 3.
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
  /// The row with nothing in it that would upset a terminal.
  fileprivate var printable: Self {
    Self(
      time: time.printable, cells.mapValues(\.printable), arrow: arrow, remark: remark.printable)
  }
}
