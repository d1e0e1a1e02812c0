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
@_spi(TestKit) public struct LaneTable: Hashable, Sendable {
  /// A line from one lane to another, with its head at the latter.
  public struct Arrow: Hashable, Sendable {
    public var from: Int
    public var to: Int

    public init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// An event.
  public struct ScratchBuffer: Hashable, Sendable {
    /// When it happened.
    public var time: String
    /// What is said in each lane, by the lane's index.
    public var cells: [Int: String]
    public var arrow: Arrow?
    /// What is said behind all lanes.
    public var remark: String

    public init(
      time: String, _ cells: [Int: String] = [:], arrow: Arrow? = nil, remark: String = ""
    ) {
      self.time = time
      self.cells = cells
      self.arrow = arrow
      self.remark = remark
    }
  }

  /// The names of the lanes, from left to right.
  public var lanes: [String]
  /// The events, in the order in which they happened. What they say of a lane that does not exist is
  /// left out.
  public var rows: [ScratchBuffer]
  /// The number of events before those, which are only counted.
  public var hiddenRows = 0

  public init(lanes: [String], rows: [ScratchBuffer] = []) {
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
  public func lines(width: Int = 100, limit: Int = 40) -> [String] {
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

extension LaneTable.ScratchBuffer {
  /// The row with nothing in it that would upset a terminal.
  fileprivate var printable: Self {
    Self(
      time: time.printable, cells.mapValues(\.printable), arrow: arrow, remark: remark.printable)
  }
}

extension Int {
  /// The number with a comma before every three digits, for example `12,345`.
  @_spi(TestKit) public var grouped: String {
    let digits = String(magnitude)
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }
}
