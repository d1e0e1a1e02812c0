import ClocksSupport
import Synchronization

/// Says at the end of the process that `CLOCKS_TRACE` had no effect, because no test of XCTest had a recording.
enum XCTestTimelines {
  private static let areAny = Atomic(false)

  /// Notes that a timeline is about to be written.
  static func noteTimeline() { areAny.store(true, ordering: .relaxed) }

  /// Prepares the process at load. Has no effect unless the variable is set, and XCTest runs.
  static func begin() {
    guard Environment.traceFolder != nil, XCTest.isLoaded,
      TestLibraries.library(runBy: CommandLine.arguments, isXCTestToBeAssumed: true) == .xcTest,
      XCTestFailures.isObserved
    else { return }
    // The handler is registered first, so it is called last: after the one that writes the last timelines.
    atexit {
      guard XCTestFailures.newestTaskAtStart ?? 0 > 0,
        !XCTestTimelines.areAny.load(ordering: .relaxed)
      else { return }
      Terminal.writeLine(
        """
        \(Environment.Variable.traceFolder.name): no timeline was written, because nothing was recorded. A test \
        of XCTest has a timeline if it uses a TestClock, or runs in withVirtualTime.
        """)
    }
  }
}
