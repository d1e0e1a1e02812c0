import Clocks
import Foundation

extension Log<String> {
  /// Adds an event with the seconds that `ContinuousClock` reads since `start`.
  func add(_ entry: String, since start: ContinuousClock.Instant) {
    add("\(entry) \((ContinuousClock.now - start) / .seconds(1))")
  }
}

/// Takes real time, as real work does.
func takeTime() { usleep(2_000) }
