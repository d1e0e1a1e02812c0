import Clocks
import Dispatch
import Foundation

/// What happened, in order; any thread may write.
final class Diary: @unchecked Sendable {
  private let lock = NSLock()
  private var entries: [String] = []

  var all: [String] { lock.withLock { entries } }

  func add(_ entry: String) { lock.withLock { entries.append(entry) } }

  /// Adds what happens, and at how many seconds of the runtime's clock since `start`.
  func add(_ entry: String, since start: ContinuousClock.Instant) {
    add("\(entry) \((ContinuousClock.now - start) / .seconds(1))")
  }
}

/// Takes its time, as real work does.
func takeTime() { usleep(2_000) }
