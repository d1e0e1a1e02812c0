import ClocksSupport

/// A log of events, in the order in which they happened. Thread-safe.
package final class Log<Entry: Sendable>: Sendable {
  /// Guards `entries`.
  private let lock = Lock()
  nonisolated(unsafe) private var entries: [Entry] = []

  package init() {}

  package func add(_ entry: Entry) {
    lock.withLock { entries.append(entry) }
  }

  package var all: [Entry] {
    lock.withLock { entries }
  }
}
