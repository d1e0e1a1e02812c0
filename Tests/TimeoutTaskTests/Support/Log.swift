@testable import TimeoutTask

/// What happened, in the order in which it happened.
final class Log<Entry: Sendable>: Sendable {
  /// Guards `entries`.
  private let lock = Lock()
  nonisolated(unsafe) private var entries: [Entry] = []

  deinit { lock.destroy() }

  func add(_ entry: Entry) {
    lock.withLock { entries.append(entry) }
  }

  var all: [Entry] {
    lock.withLock { entries }
  }
}
