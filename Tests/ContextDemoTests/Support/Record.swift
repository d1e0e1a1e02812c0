import Clocks

@testable import ContextDemo

/// Remembers what happened, and when, so that a test can look at it at any time.
actor Record {
  private let clock: TestClock<Duration>
  private(set) var entries: [Timeline.Entry] = []

  init(_ clock: TestClock<Duration>) {
    self.clock = clock
  }

  func add(_ who: String, _ what: String) {
    entries.append(Timeline.Entry(time: clock.now.offset, who: who, what: what))
  }
}

extension Timeline.Entry {
  /// An entry at a number of milliseconds.
  init(_ milliseconds: Int, _ who: String, _ what: String) {
    self.init(time: .milliseconds(milliseconds), who: who, what: what)
  }
}
