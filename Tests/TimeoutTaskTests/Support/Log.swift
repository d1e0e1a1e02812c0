@testable import TimeoutTask

/// A record of events in their order.
final class Log<Entry: Sendable>: Sendable {
  private let entries = Guarded<[Entry]>([])

  deinit { entries.destroy() }

  func add(_ entry: Entry) {
    entries.withLock { $0.append(entry) }
  }

  var all: [Entry] {
    entries.withLock { $0 }
  }
}
