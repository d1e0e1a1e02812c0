/// The cost of an operation in each of several runs.
struct Measurement: Codable {
  var runs: [Double]

  var median: Double {
    let sorted = runs.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
  var minimum: Double { runs.min() ?? .nan }
  var maximum: Double { runs.max() ?? .nan }
}

/// A row of the report: the same work, done alternately in two ways.
struct Comparison: Codable {
  var name: String
  var count: Int
  var unit = "ns"
  var floorName = "floor"
  var ours: Measurement
  var floor: Measurement?

  /// The median of the ratios of the pairs, which changes little if the speed of the machine varies.
  var ratio: Double? {
    guard let floor, !floor.runs.isEmpty else { return nil }
    return Measurement(runs: zip(ours.runs, floor.runs).map { $0 / $1 }).median
  }
}
