import Clocks
import Dispatch
import Foundation

/// A log of events. Thread-safe.
final class Diary: @unchecked Sendable {
  private let lock = NSLock()
  private var entries: [String] = []

  var all: [String] { lock.withLock { entries } }

  func add(_ entry: String) { lock.withLock { entries.append(entry) } }

  /// Adds an event with the seconds that `ContinuousClock` reads since `start`.
  func add(_ entry: String, since start: ContinuousClock.Instant) {
    add("\(entry) \((ContinuousClock.now - start) / .seconds(1))")
  }
}

/// Takes real time, as real work does.
func takeTime() { usleep(2_000) }
