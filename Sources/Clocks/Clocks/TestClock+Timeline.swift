extension TestClock {
  /// Begins to record what happens in the test, unless it is recorded already: to all of its tasks, on
  /// all of its clocks.
  ///
  /// See ``VirtualTime/recordTimeline(events:)``.
  ///
  /// - Parameter events: How many events are kept: the latest ones, a million by default.
  public func recordTimeline(events: Int = 1_000_000) {
    scheduler.beginRecording(limit: max(events, 1))?.beginTest()
  }

  /// What has happened in the test since it is recorded; `nil` if it is not.
  public var recordedTimeline: RecordedTimeline? { scheduler.recorder?.timeline }

  /// Adds a mark of the test's own to what is recorded, in the lane of the current task.
  ///
  /// `text` is not asked for where nothing is recorded. O(1), from anywhere.
  public func mark(_ text: @autoclosure () -> String) {
    scheduler.recorder?.mark(text())
  }
}
