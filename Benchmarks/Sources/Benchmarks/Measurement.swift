import Foundation

/// How long something took, in nanoseconds for each of its operations, over several runs.
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

/// One row of the report: the same work done in two ways, in turn, in one run.
struct Comparison: Codable {
  var name: String
  var count: Int
  var unit = "ns"
  var floorName = "floor"
  var ours: Measurement
  var floor: Measurement?

  /// The median of the ratios of the pairs, which a machine that is now fast and now slow leaves
  /// alone.
  var ratio: Double? {
    guard let floor, !floor.runs.isEmpty else { return nil }
    return Measurement(runs: zip(ours.runs, floor.runs).map { $0 / $1 }).median
  }
}

/// Times a piece of work and divides by the number of its operations.
func nanoseconds(per count: Int, _ work: () async -> Void) async -> Double {
  let start = ContinuousClock.now
  await work()
  let length = ContinuousClock.now - start
  return Double(length.components.seconds) * 1e9 / Double(count)
    + Double(length.components.attoseconds) / 1e9 / Double(count)
}

/// The memory that this process has in use, in bytes.
func residentBytes() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
    return 0
  }
  let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  return pages * Int(getpagesize())
}
