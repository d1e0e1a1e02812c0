import ClocksSupport

@testable import Clocks

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

/// An actor that counts, to have somewhere to hop to.
actor Counter {
  private(set) var count = 0

  func increment() { count += 1 }

  func incrementSlowly(yields: Int) async {
    for _ in 0..<yields { await Task.yield() }
    count += 1
  }
}
