import Clocks
import Foundation

@testable import ContextDemo

/// Records events and their times, so that a test can read them at any time.
actor Record {
  private let clock: TestClock<Duration>
  private(set) var events: [EventLog.Event] = []

  init(_ clock: TestClock<Duration>) {
    self.clock = clock
  }

  func add(_ source: String, _ text: String) {
    events.append(EventLog.Event(time: clock.now.offset, source: source, text: text))
  }
}

extension EventLog.Event {
  init(_ milliseconds: Int, _ source: String, _ text: String) {
    self.init(time: .milliseconds(milliseconds), source: source, text: text)
  }
}

extension AsyncStream where Element: Sendable {
  /// Returns the next `count` elements, or fewer if the stream ends before.
  func first(_ count: Int) async -> [Element] {
    var elements: [Element] = []
    for await element in prefix(count) { elements.append(element) }
    return elements
  }
}

/// A path for a folder, which is removed with this object.
final class TemporaryFolder: Sendable {
  let url = FileManager.default.temporaryDirectory
    .appendingPathComponent("ContextDemoTests-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: url) }
}
