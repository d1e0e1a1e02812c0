import ClocksSupport

/// Where a failure of a test is recorded.
///
/// In XCTest all clocks that are made outside scopes share one scheduler, whose first clock may be a property of
/// another class. So the place is that of the clock that the failure is about.
extension Scheduler {
  /// Notes that the current task makes or uses the clock that was made at `place`. The scheduler is process-wide.
  func noteUse(at place: CallSite) {
    let test = XCTestFailures.newestTaskAtStart ?? 0
    change { $0.latestUse = (place, test) }
  }

  /// Where the current test last made or used a clock; by default, the place of the first clock.
  var place: CallSite {
    guard isProcessWide else { return report.origin }
    let test = XCTestFailures.newestTaskAtStart ?? 0
    return change { $0.latestUse.flatMap { $0.xcTest == test ? $0.place : nil } } ?? report.origin
  }

  /// The place of the first clock on which a task of the current test sleeps; `place` if there is none.
  var placeOfSleep: CallSite {
    guard isProcessWide else { return report.origin }
    let first = XCTestFailures.newestTaskAtStart ?? 0
    let clock = change { state in
      state.virtualClocks.first { $0.sleepingTasks.contains { taskID(of: $0) > first } }?.origin
    }
    return clock ?? place
  }
}
