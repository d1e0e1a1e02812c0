import ClocksSupport

/// A history as a picture: a lane for each task, time from left to right.
package struct TimelinePicture {
  /// A picture shows at most this many events, the latest ones.
  package static let mostEvents = 20_000
  private static let mostLanes = 1_000
  private static let width = 960.0
  private static let mostWidth = 2_400.0

  let history: History
  let title: String
  /// The tasks that have a lane, from top to bottom, each with the number of its ancestors (at most 4).
  let lanes: [(task: Int, depth: Int)]
  let lanesLeftOut: Int
  let places: [Int: Int]
  let axis: TimeAxis
  let laneHeight: Double
  let fontSize: Double
  let gutter: Double
  let left: Double
  let top = 84.0

  var hasWords: Bool { laneHeight >= 26 }
  var right: Double { left + axis.width }
  var bottom: Double { top + laneHeight * Double(max(lanes.count, 1)) }

  package init(_ history: History, title: String) {
    self.history = history
    self.title = title
    let active = Self.activeTasks(of: history)
    let kept = Set(
      active.sorted { history.tasks[$0].last > history.tasks[$1].last }.prefix(Self.mostLanes))
    let lanes = Self.tree(history.tasks, kept)
    self.lanes = lanes
    lanesLeftOut = active.count - kept.count
    places = Dictionary(uniqueKeysWithValues: lanes.enumerated().map { ($1.task, $0) })
    let hasMarks = !history.marks.isEmpty
    laneHeight = lanes.count <= 40 ? (hasMarks ? 38 : 28) : lanes.count <= 120 ? 18 : 9
    let fontSize = laneHeight >= 18 ? 12.0 : 7.0
    self.fontSize = fontSize
    let names = lanes.map { lane in
      history.tasks[lane.task].title.printable.room(size: fontSize) + Double(lane.depth) * 12
    }
    gutter = min(max(names.max() ?? 0, 40), 190)
    left = 20 + gutter + 14
    axis = TimeAxis(
      Self.moments(of: history), start: left, width: Self.width - left - 20,
      most: Self.mostWidth - left)
  }

  /// Returns the tasks that do something in the part of the history that is drawn.
  private static func activeTasks(of history: History) -> [Int] {
    var active = Set(history.jobs.map(\.task))
    active.formUnion(history.spans.map(\.task))
    active.formUnion(history.links.flatMap { [$0.from, $0.to] })
    return active.sorted()
  }

  private static func moments(of history: History) -> [History.Moment] {
    var moments = history.jobs.map(\.at)
    moments += history.spans.flatMap { [$0.begin, $0.end] }
    moments += history.marks.map(\.at) + history.links.map(\.at)
    return moments.sorted()
  }

  /// Returns each task followed by its descendants. Siblings are in the order of their creation.
  private static func tree(_ tasks: [History.Task], _ kept: Set<Int>) -> [(task: Int, depth: Int)] {
    var children: [Int: [Int]] = [:]
    var roots: [Int] = []
    for task in kept.sorted() {
      var parent = tasks[task].parent
      while let other = parent, !kept.contains(other) { parent = tasks[other].parent }
      if let parent { children[parent, default: []].append(task) } else { roots.append(task) }
    }
    var result: [(task: Int, depth: Int)] = []
    var open = roots.reversed().map { ($0, 0) }
    while let (task, depth) = open.popLast() {
      result.append((task, depth))
      open += (children[task] ?? []).reversed().map { ($0, min(depth + 1, 4)) }
    }
    return result
  }

  /// Returns the height at which a task's life is drawn: the middle of its lane, or below the marks.
  func y(_ task: Int) -> Double? {
    places[task].map { place in
      let middle = hasWords && laneHeight > 30 ? 0.66 : 0.5
      return top + (Double(place) + middle) * laneHeight
    }
  }
}

/// The positions of a history's moments on a line.
///
/// At each instant time stands still while jobs run, and each job has a place of its own. The room between
/// two instants is in proportion to the time that passes, within limits: a long gap is compressed.
struct TimeAxis {
  struct Instant {
    var time: Duration
    /// The numbers of the jobs at this instant.
    var jobs: ClosedRange<Int>
    var from = 0.0
    var to = 0.0
    /// Whether the gap before the instant is drawn shorter than in proportion to its time.
    var isCompressed = false
  }

  private static let narrowStep = 6.0
  private static let wideStep = 14.0
  private static let leastGap = 8.0
  private static let mostGap = 180.0

  private(set) var instants: [Instant] = []
  private(set) var step: Double
  private(set) var width: Double

  /// - Parameter wanted: The preferred width. The axis is narrower if possible, and wider if necessary.
  init(_ moments: [History.Moment], start: Double, width wanted: Double, most: Double) {
    for moment in moments {
      if let last = instants.indices.last, instants[last].time == moment.time {
        let first = instants[last].jobs.lowerBound
        instants[last].jobs = first...max(moment.job, instants[last].jobs.upperBound)
      } else {
        // If time moves during a job, the job has a place at the old instant and one at the new instant.
        instants.append(Instant(time: moment.time, jobs: moment.job...moment.job))
      }
    }
    let jobs = instants.reduce(0) { $0 + $1.jobs.count }
    let gaps = zip(instants, instants.dropFirst()).map { $1.time.since($0.time).seconds }
    // The jobs get half of the room, within the limits of the step's width. The gaps get the rest.
    let wide = min(max(wanted / 2 / Double(max(jobs, 1)), Self.narrowStep), Self.wideStep)
    let roomForGaps = max(wanted - wide * Double(jobs), Self.leastGap * Double(gaps.count))
    let scale = Self.scale(of: gaps, to: roomForGaps)
    let needed = wide * Double(jobs) + Self.room(gaps, scale)
    let factor = min(1, most / max(needed, 1))
    step = wide * factor
    var x = start
    for index in instants.indices {
      if index > 0 {
        x += Self.room(gaps[index - 1], scale) * factor
        instants[index].isCompressed = gaps[index - 1] * scale > Self.mostGap
      }
      instants[index].from = x
      x += step * Double(instants[index].jobs.count)
      instants[index].to = x
    }
    width = x - start
  }

  private static func room(_ seconds: Double, _ scale: Double) -> Double {
    min(max(seconds * scale, leastGap), mostGap)
  }

  private static func room(_ gaps: [Double], _ scale: Double) -> Double {
    gaps.reduce(0) { $0 + room($1, scale) }
  }

  /// Returns the greatest scale with which all gaps fit into `total`.
  private static func scale(of gaps: [Double], to total: Double) -> Double {
    guard let shortest = gaps.filter({ $0 > 0 }).min() else { return 1 }
    var (low, high) = (0.0, mostGap / shortest)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if room(gaps, middle) <= total { low = middle } else { high = middle }
    }
    return low
  }

  /// Returns the horizontal position of a moment: the middle of the place of its job.
  func x(_ moment: History.Moment) -> Double {
    guard let last = instants.last else { return 0 }
    let next = instants.partitioned { $0.time < moment.time }
    let instant = next < instants.count ? instants[next] : last
    let place = min(max(moment.job, instant.jobs.lowerBound), instant.jobs.upperBound)
    return instant.from + (Double(place - instant.jobs.lowerBound) + 0.5) * step
  }
}
