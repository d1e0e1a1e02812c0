/// Where the moments of a history stand on a line.
///
/// At each instant time stands still while jobs run, and each of them gets a place of its own. Between
/// two instants the room is in proportion to the time that passes, but never less than a little nor
/// more than a lot: where nothing happens for long, the line is compressed.
struct TimeAxis {
  struct Instant {
    var time: Duration
    /// The jobs at this instant: from the first one's number to the last one's.
    var jobs: ClosedRange<Int>
    /// Where the instant begins and ends.
    var from = 0.0
    var to = 0.0
    /// Whether the time before it takes less room than it should.
    var isCompressed = false
  }

  private(set) var instants: [Instant] = []
  /// The room of one job.
  private(set) var step: Double
  private(set) var width: Double

  /// - Parameters:
  ///   - moments: The moments in order.
  ///   - width: The room that there is; less is used if that is enough, and more if need be.
  ///   - most: The room that is never exceeded.
  init(_ moments: [History.Moment], start: Double, width wanted: Double, most: Double) {
    for moment in moments {
      if let last = instants.indices.last, instants[last].time == moment.time {
        let first = instants[last].jobs.lowerBound
        instants[last].jobs = first...max(moment.job, instants[last].jobs.upperBound)
      } else {
        // A job that goes on while time is moved stands at both instants.
        instants.append(Instant(time: moment.time, jobs: moment.job...moment.job))
      }
    }
    let jobs = instants.reduce(0) { $0 + $1.jobs.count }
    let gaps = zip(instants, instants.dropFirst()).map {
      saturatingDifference($1.time, $0.time).seconds
    }
    // Half of the room is for time, if the jobs can do with the other half.
    let wide = min(max(wanted / 2 / Double(max(jobs, 1)), Self.narrowStep), Self.wideStep)
    let roomForGaps = max(wanted - wide * Double(jobs), Self.least * Double(gaps.count))
    let scale = Self.scale(of: gaps, to: roomForGaps)
    let needed = wide * Double(jobs) + gaps.reduce(0) { $0 + Self.room($1, scale).0 }
    let factor = min(1, most / max(needed, 1))
    step = wide * factor
    var x = start
    for index in instants.indices {
      if index > 0 {
        let (room, isCompressed) = Self.room(gaps[index - 1], scale)
        instants[index].isCompressed = isCompressed
        x += room * factor
      }
      instants[index].from = x
      x += step * Double(instants[index].jobs.count)
      instants[index].to = x
    }
    width = x - start
  }

  private static let narrowStep = 6.0
  private static let wideStep = 14.0
  /// The least and the most room between two instants.
  private static let least = 8.0
  private static let most = 180.0

  /// How much room a gap gets, and whether that is less than it should.
  private static func room(_ seconds: Double, _ scale: Double) -> (Double, Bool) {
    let room = seconds * scale
    return (min(max(room, least), most), room > most)
  }

  /// The greatest scale with which all gaps fit into their room.
  private static func scale(of gaps: [Double], to total: Double) -> Double {
    guard let shortest = gaps.filter({ $0 > 0 }).min() else { return 1 }
    var (low, high) = (0.0, most / shortest)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      let needed = gaps.reduce(0) { $0 + room($1, middle).0 }
      if needed <= total { low = middle } else { high = middle }
    }
    return low
  }

  /// The middle of the place of a moment's job.
  func x(_ moment: History.Moment) -> Double {
    var (low, high) = (0, instants.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if instants[middle].time < moment.time { low = middle + 1 } else { high = middle }
    }
    guard low < instants.count else { return 0 }
    let instant = instants[low]
    let place = min(max(moment.job, instant.jobs.lowerBound), instant.jobs.upperBound)
    return instant.from + (Double(place - instant.jobs.lowerBound) + 0.5) * step
  }
}
