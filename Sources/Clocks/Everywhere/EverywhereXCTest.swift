import ClocksSearch
import ClocksSupport

/// Runs each test of XCTest in a scope of its own, and records its result.
enum EverywhereXCTest {
  /// Guards `current`: XCTest runs one test at a time, on the main thread, but any thread may record a failure.
  /// Rank `leaf`.
  private static let lock = Lock(.leaf)
  /// The records of the current test and, before it, of the tests within which it runs: a test may run another one.
  nonisolated(unsafe) private static var current: [EverywhereRecord] = []

  private static var record: EverywhereRecord? { lock.withLock { current.last } }

  /// Prepares the process, before it has a second thread.
  static func begin() {
    guard XCTest.isLoaded else { return }
    let isSeen = XCTestFailures.observeTests(
      by: (
        willStart: { testCase in
          XCTestInvocation.replace(inClassOf: testCase)
          let new = EverywhereRecord(XCTestInvocation.name(of: testCase))
          lock.withLock { current.append(new) }
        },
        didFail: { record?.add(failure: $0) },
        didFinish: { _ in
          record?.noteIfUnseen()
          record?.end()
          // The record is released without the lock.
          _ = lock.withLock { current.popLast() }
        }
      ))
    let isReplaced = XCTestInvocation.replace { testCase, original in run(testCase, original) }
    guard isSeen, isReplaced else {
      return Everywhere.warn(
        "Clocks does not know this version of XCTest, so its tests run in real time.")
    }
    #if os(Linux) && canImport(Glibc)
      ThreadSleeps.redirect()
    #endif
  }

  private static func run(_ testCase: AnyObject, _ original: () -> Void) {
    guard let record else { return original() }
    if ThreadWaits.ofThread != nil {
      // The test runs within another one, and its time is virtual in the scope of that one.
      record.noteVirtualTime()
      return original()
    }
    guard UnownedTask.currentID == nil, let plan = EverywhereSettings.plan(for: record) else {
      return original()
    }
    if holdsTestClock(testCase, depth: 2) {
      record.add(
        reason: """
          runs in real time, because a property of the test holds a TestClock that was made before the test
          """)
      return original()
    }
    let isExplored = plan != .firstInFirstOut
    var options = Everywhere.options(isExplored: isExplored, for: record)
    // XCTest often waits for work outside the scope. The pause before each jump gives that work some real time.
    options.jumpsAfter = AutoAdvance.pauseForOutsideWork
    let explorer = isExplored ? Explorer(ScheduleRun(plan)) : nil
    explorer?.run.salt = EverywhereSettings.salt(for: record)
    explorer?.stepLimit = Everywhere.mostSteps
    let time = VirtualTime(options, at: .unknown, chooser: explorer)
    Everywhere.testBegins()
    SynchronousBody.run(in: time, original)
    record.note(time)
    // The explorer outlives the call of `change`, so that it is not released under the scheduler's lock.
    withExtendedLifetime(explorer) { time.scheduler.change { $0.order = Order() } }
  }

  /// Whether a value is a clock that was made before its test, or has such a clock in a property.
  ///
  /// Such a clock has its own scheduler. It cannot be used within a scope, which has another one.
  private static func holdsTestClock(_ value: Any, depth: Int) -> Bool {
    if let clock = value as? TestClock<Duration> { return clock.scheduler.isProcessWide }
    guard depth >= 0 else { return false }
    return sequence(first: Mirror(reflecting: value), next: \.superclassMirror).contains { mirror in
      // Unwrapping an optional does not use up depth. Only the first 100 children of a value are searched.
      let depth = mirror.displayStyle == .optional ? depth : depth - 1
      return mirror.children.prefix(100).contains { holdsTestClock($0.value, depth: depth) }
    }
  }
}
