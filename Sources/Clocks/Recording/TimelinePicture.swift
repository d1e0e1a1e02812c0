/// A history as a picture: a lane for each task, time from left to right.
struct TimelinePicture {
  /// What of a very long history is drawn: the latest events, and the tasks in them.
  static let mostEvents = 20_000
  private static let mostLanes = 1_000
  private static let width = 960.0
  private static let mostWidth = 2_400.0

  let history: History
  let title: String
  /// The tasks that have a lane, from top to bottom, and how deep each is below the first.
  let lanes: [(task: Int, depth: Int)]
  let lanesLeftOut: Int
  let axis: TimeAxis
  /// The lane of each task.
  let places: [Int: Int]
  let gutter: Double
  let laneHeight: Double
  let top = 84.0

  /// Whether there is room for words in the lanes.
  var hasWords: Bool { laneHeight >= 26 }
  var fontSize: Double { laneHeight >= 18 ? 12 : 7 }
  var left: Double { 20 + gutter + 14 }
  var right: Double { left + axis.width }
  var bottom: Double { top + laneHeight * Double(max(lanes.count, 1)) }

  init(_ history: History, title: String) {
    self.history = history
    self.title = title
    let active = Self.activeTasks(of: history)
    let kept = Set(
      active.sorted { history.tasks[$0].last > history.tasks[$1].last }.prefix(Self.mostLanes))
    lanes = Self.family(history.tasks, kept)
    lanesLeftOut = active.count - kept.count
    places = Dictionary(uniqueKeysWithValues: lanes.enumerated().map { ($1.task, $0) })
    let hasMarks = !history.marks.isEmpty
    laneHeight = lanes.count <= 40 ? (hasMarks ? 38 : 28) : lanes.count <= 120 ? 18 : 9
    let size = laneHeight >= 18 ? 12.0 : 7.0
    let names = lanes.map { lane in
      history.tasks[lane.task].title.printable.room(size: size) + Double(lane.depth) * 12
    }
    let gutter = min(max(names.max() ?? 0, 40), 190)
    self.gutter = gutter
    let start = 20 + gutter + 14
    axis = TimeAxis(
      Self.moments(of: history), start: start, width: Self.width - start - 20,
      most: Self.mostWidth - start)
  }

  /// The tasks that do something in the part of the history that is drawn.
  private static func activeTasks(of history: History) -> [Int] {
    var active = Set(history.jobs.map(\.task))
    active.formUnion(history.sleeps.map(\.task))
    active.formUnion(history.absences.map(\.task))
    active.formUnion(history.links.flatMap { [$0.from, $0.to] })
    return active.sorted()
  }

  /// Every moment at which something is drawn, in order.
  private static func moments(of history: History) -> [History.Moment] {
    var moments = history.jobs.map(\.at)
    moments += history.sleeps.flatMap { [$0.begin, $0.end] }
    moments += history.absences.flatMap { [$0.begin, $0.end] }
    moments += history.marks.map(\.at) + history.links.map(\.at)
    return moments.sorted()
  }

  /// The tasks in the order in which they were created, each behind its parent and those before it.
  private static func family(
    _ tasks: [History.Task], _ kept: Set<Int>
  ) -> [(task: Int, depth: Int)] {
    var children: [Int: [Int]] = [:]
    var firsts: [Int] = []
    for task in kept.sorted() {
      var parent = tasks[task].parent
      while let other = parent, !kept.contains(other) { parent = tasks[other].parent }
      if let parent { children[parent, default: []].append(task) } else { firsts.append(task) }
    }
    var result: [(task: Int, depth: Int)] = []
    var open = firsts.reversed().map { ($0, 0) }
    while let (task, depth) = open.popLast() {
      result.append((task, depth))
      open += (children[task] ?? []).reversed().map { ($0, min(depth + 1, 4)) }
    }
    return result
  }

  // MARK: - Places

  /// The middle of a task's lane, where its life runs; marks stand above.
  func y(_ task: Int) -> Double? {
    places[task].map { place in
      let middle = hasWords && laneHeight > 30 ? 0.66 : 0.5
      return top + (Double(place) + middle) * laneHeight
    }
  }

  var actorsInUse: [Int] {
    Set(history.jobs.filter { places[$0.task] != nil }.compactMap(\.actor)).sorted()
  }
}
