import Foundation
import MeasuredRegion

/// Returns the time of the work divided by the number of its operations.
func nanoseconds(per count: Int, _ work: () async -> Void) async -> Double {
  measured_region_begins()
  let start = ContinuousClock.now
  await work()
  let length = ContinuousClock.now - start
  measured_region_ends()
  return Double(length.components.seconds) * 1e9 / Double(count)
    + Double(length.components.attoseconds) / 1e9 / Double(count)
}

/// The memory in use by this process, in bytes.
func residentBytes() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
    return 0
  }
  let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  return pages * Int(getpagesize())
}
