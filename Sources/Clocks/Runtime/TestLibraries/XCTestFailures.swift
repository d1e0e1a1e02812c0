import ClocksSupport

/// Observes the failures that XCTest records.
///
/// XCTest's functions are found by their symbols. The observer conforms to a protocol like
/// `XCTestObservation`. Source: `XCTestObservation.swift` of swift-corelibs-xctest, as of Swift 6.3.
enum XCTestFailures {
  typealias Listener = @Sendable (_ text: String, _ file: String, _ line: Int) -> Void

  /// Guards the variables below. Rank `leaf`.
  fileprivate static let lock = Lock(.leaf)
  nonisolated(unsafe) fileprivate static var listener: Listener?
  nonisolated(unsafe) private static var newestTask: UInt64 = 0

  /// Returns a note that may explain a failure with this text; `nil` if there is none.
  typealias Note = @Sendable (_ text: String) -> String?

  nonisolated(unsafe) private static var noteOnFailure: Note?
  /// The texts of the failures that this package is recording, which need no note.
  nonisolated(unsafe) private static var ownFailures: [String] = []

  /// Begins to observe the starts of tests and their failures, if XCTest runs.
  ///
  /// Called when the first clock or scope is made. So XCTest has no observer of this package in a process that makes
  /// none.
  static func observe(noteOnFailure note: @escaping Note) {
    guard TestLibraries.isXCTestRunning else { return }
    lock.withLock { noteOnFailure = note }
    _ = isObserved
  }

  /// Records a failure of this package, by a call of XCTest.
  static func withOwnFailure(_ text: String, _ record: () -> Void) {
    lock.withLock { ownFailures.append(text) }
    record()
    lock.withLock { ownFailures.firstIndex(of: text).map { _ = ownFailures.remove(at: $0) } }
  }

  /// Writes a note on a failure that XCTest records on this thread, if there is one.
  ///
  /// The text of a failure cannot be changed. The note has the failure's place and test: XCTest calls its observers in
  /// any order, so it may write the failure before or after the note.
  fileprivate static func writeNote(on text: String, _ file: String, _ line: Int, _ test: AnyObject)
  {
    let (find, isOwn) = lock.withLock {
      (noteOnFailure, ownFailures.contains(where: text.hasSuffix))
    }
    guard !isOwn, let note = find?(text) else { return }
    let name = XCTestInvocation.shortName(of: test).map { "\($0) : " } ?? ""
    Terminal.writeLine("\(file):\(line): note: \(name)\(note)")
  }

  /// The id of the newest task when a test last began or ended; 0 if none has, `nil` if tests cannot be observed.
  static var newestTaskAtStart: UInt64? { isObserved ? lock.withLock { newestTask } : nil }

  /// Notes that a test starts or ends.
  fileprivate static func testChanges() {
    let newest = UnownedTask.newestID()
    lock.withLock { newestTask = newest }
  }

  /// Passes each failure to the listener until `end`. Returns whether failures can be observed.
  static func begin(_ listener: @escaping Listener) -> Bool {
    lock.withLock { self.listener = listener }
    return isObserved
  }

  static func end() { lock.withLock { listener = nil } }

  /// The functions that are called for each test; set once, before the first test.
  nonisolated(unsafe) fileprivate static var suite: Suite?
  typealias Suite = (
    willStart: (AnyObject) -> Void, didFail: (String) -> Void, didFinish: (AnyObject) -> Void
  )

  /// Calls these functions for each later test, on the thread that runs the test. Returns whether that is possible.
  static func observeTests(by suite: Suite) -> Bool {
    self.suite = suite
    return isObserved
  }

  #if os(Linux)
    private struct Shared { var call: () -> AnyObject }
    private struct Add { var call: (any LookAlikeObservation) -> Void }

    nonisolated(unsafe) private static let shared = SwiftFunction(
      named: "$s6XCTest0A17ObservationCenterC6sharedACvgZ")
    nonisolated(unsafe) private static let add = RuntimeSymbol.address(
      of: "$s6XCTest0A17ObservationCenterC15addTestObserveryyAA0aB0_pF")
    private static let canObserve =
      shared != nil && add != nil && XCTestRequirements.areAsExpected

    /// Descriptions of the parts of XCTest's tests that are not seen.
    static var missing: [String] {
      canObserve ? [] : ["which test of XCTest runs, and its failures"]
    }

    /// Whether tests are observed. Begins to observe them when it is first read.
    static let isObserved: Bool = {
      guard let shared, let add, canObserve else { return false }
      SwiftFunction(add, of: shared.as(Shared.self).call()).as(Add.self).call(observer)
      return true
    }()

    private static let observer = Observer()
  #else
    static let isObserved = false
    static var missing: [String] { [] }
  #endif
}

#if os(Linux)
  private final class Observer: LookAlikeObservation, Sendable {
    func testBundleWillStart(_ bundle: AnyObject) {}
    func testSuiteWillStart(_ suite: AnyObject) {}
    func testCaseWillStart(_ testCase: AnyObject) {
      XCTestFailures.testChanges()
      XCTestFailures.suite?.willStart(testCase)
    }

    func testCase(
      _ testCase: AnyObject, didFailWithDescription description: String, inFile file: String?,
      atLine line: Int
    ) {
      XCTestFailures.lock.withLock { XCTestFailures.listener }?(description, file ?? "", line)
      XCTestFailures.writeNote(on: description, file ?? "<unknown>", line, testCase)
      XCTestFailures.suite?.didFail("\(file ?? ""):\(line): \(description)")
    }

    func testCaseDidFinish(_ testCase: AnyObject) {
      XCTestFailures.testChanges()
      XCTestFailures.suite?.didFinish(testCase)
    }

    func testSuiteDidFinish(_ suite: AnyObject) {}
    func testBundleDidFinish(_ bundle: AnyObject) {}
  }
#endif
