import ClocksSupport

/// Access to Swift Testing and XCTest, whose functions are looked up by name in the running process.
///
/// Both libraries are loaded into most test processes, and each silently drops failures while it is not
/// the one that runs. So the running one must be determined:
///
/// | evidence | running library |
/// |---|---|
/// | `Test.current` is a test | Swift Testing |
/// | XCTest has a current test case (which can be read on Apple platforms only) | XCTest |
/// | `--testing-library` among the process's arguments (`swift test` passes it) | the one that it names |
/// | the executable is a test bundle, XCTest is loaded, and its current test case cannot be read | XCTest |
/// | the executable is a test bundle, otherwise | Swift Testing |
/// | none of this | unknown: failures go to all that are loaded |
///
/// XCTest has two limits. On Linux it silently drops failures recorded while none of its test cases
/// runs (in a class's `setUp`, between tests). Everywhere it attributes a failure of a task that outlived
/// its test to the test that runs by then.
///
/// Tried on Linux with Swift 6.3. The code for Apple platforms was not run.
enum TestLibraries {
  enum Delivery: Equatable {
    case delivered
    /// No library is known to run. All loaded libraries took the failure.
    case uncertain
    /// The library runs, and its function that records a failure was not found.
    case lost(Library)
  }

  static func deliver(_ message: String, at callSite: CallSite) -> Delivery {
    switch running {
    case .swiftTesting?:
      return SwiftTesting.record(message, at: callSite) ? .delivered : .lost(.swiftTesting)
    case .xcTest?: return XCTest.fail(message, at: callSite) ? .delivered : .lost(.xcTest)
    case nil:
      _ = SwiftTesting.record(message, at: callSite)
      _ = XCTest.fail(message, at: callSite)
      return .uncertain
    }
  }

  /// Descriptions of the functions of the running library that were not found.
  static var missing: [String] {
    switch running {
    case .swiftTesting?: SwiftTesting.missing
    case .xcTest?:
      unseen((XCTest.canFail, "how XCTest records a failure (XCTFail)")) + XCTestFailures.missing
    case nil: []
    }
  }

  static var isXCTestRunning: Bool { running == .xcTest }

  static var isTestProcess: Bool { running != nil }

  /// Whether a test library runs, or XCTest is loaded. Few programs load XCTest and run no tests.
  static var mayBeRunning: Bool { isTestProcess || XCTest.isLoaded }

  enum Library: String {
    case swiftTesting = "Swift Testing"
    case xcTest = "XCTest"
  }

  private static var running: Library? {
    if SwiftTesting.isRunningThisTask { return .swiftTesting }
    if XCTest.hasCurrentTestCase == true { return .xcTest }
    if runByArguments.withXCTest == runByArguments.else { return runByArguments.else }
    return XCTest.isLoaded && XCTest.hasCurrentTestCase == nil
      ? runByArguments.withXCTest : runByArguments.else
  }

  /// The library that follows from the process's arguments: if a bundle is assumed to run XCTest, and if it is not.
  private static let runByArguments = (
    withXCTest: library(runBy: CommandLine.arguments, isXCTestToBeAssumed: true),
    else: library(runBy: CommandLine.arguments, isXCTestToBeAssumed: false)
  )

  /// Returns the test library that a process with these arguments runs; `nil` if the arguments do not tell.
  static func library(runBy arguments: [String], isXCTestToBeAssumed: Bool) -> Library? {
    let words = arguments.flatMap { $0.split(separator: "=", maxSplits: 1) }
    for (option, value) in zip(words, words.dropFirst()) where option == "--testing-library" {
      if value == "swift-testing" { return .swiftTesting }
      if value == "xctest" { return .xcTest }
    }
    let isTestProcess = arguments.enumerated().contains {
      TestProcess.isShown(by: $1, isExecutable: $0 == 0)
    }
    guard isTestProcess else { return nil }
    return isXCTestToBeAssumed ? .xcTest : .swiftTesting
  }
}

/// Swift Testing's functions, called with the library's own types.
///
/// The library is resilient, so its structs are passed by address. Arguments whose types are parameters of the
/// generic struct that holds the function, such as `Record`, are also passed by address. So the library's types
/// can stand in for these parameters, and no layout is assumed. (A struct that is generic over the whole function
/// type would pass even a `String` by address.)
///
/// A module that imports Swift Testing registers its own compiled calls (`CompiledSwiftTesting`). Then
/// no symbol is looked up.
enum SwiftTesting {
  private struct Current<Value> { var call: () -> Value? }
  // An initializer owns its arguments; any other function borrows them.
  private struct MakeComment<Comment> { var call: (__owned String) -> Comment }
  private struct MakeSourceLocation<SourceLocation> {
    var call: (__owned String, __owned String, Int, Int) -> SourceLocation
  }
  private struct Record<Comment, SourceLocation, Issue> {
    var call: (Comment?, SourceLocation) -> Issue
  }

  /// Whether the current task belongs to a Swift Testing test. Detached tasks, threads and queues that the
  /// test uses do not belong to it.
  static var isRunningThisTask: Bool {
    CompiledSwiftTesting.registered?.isRunningTest() ?? isThere(currentTest, test)
  }

  /// Whether the current task belongs to a test case, as opposed to code of a trait or of the test's arguments.
  static var isRunningCase: Bool {
    CompiledSwiftTesting.registered?.isRunningCase() ?? isThere(currentCase, testCase)
  }

  /// Descriptions of the functions that were not found.
  static var missing: [String] {
    guard CompiledSwiftTesting.registered == nil else { return [] }
    let seesTests = currentTest != nil && test != nil && currentCase != nil && testCase != nil
    return unseen(
      (seesTests, "which test runs (Test.current, Test.Case.current)"),
      (calls != nil, "how Swift Testing records a failure (Issue.record)"))
  }

  private static func isThere(_ current: SwiftFunction?, _ type: Any.Type?) -> Bool {
    guard let current, let type else { return false }

    func isThere<Value>(_: Value.Type) -> Bool { current.as(Current<Value>.self).call() != nil }
    return isThere(type)
  }

  nonisolated(unsafe) private static let currentTest = SwiftFunction(
    named: "$s7Testing4TestV7currentACSgvgZ")
  private static let test = _typeByName("7Testing4TestV")
  nonisolated(unsafe) private static let currentCase = SwiftFunction(
    named: "$s7Testing4TestV4CaseV7currentAESgvgZ")
  private static let testCase = _typeByName("7Testing4TestV4CaseV")

  /// The symbol of `Issue.record(_:sourceLocation:)`, which names the types of its parameters, too.
  ///
  /// Changed by tests only.
  nonisolated(unsafe) static var recordSymbol =
    "$s7Testing5IssueV6record_14sourceLocationAcA7CommentVSg_AA06SourceE0VtFZ"

  private typealias Calls = (
    record: SwiftFunction, makeComment: SwiftFunction, makeSourceLocation: SwiftFunction,
    issue: Any.Type, comment: Any.Type, sourceLocation: Any.Type
  )

  private static var calls: Calls? {
    guard
      let record = SwiftFunction(named: recordSymbol),
      let makeComment = SwiftFunction(named: "$s7Testing7CommentV8rawValueACSS_tcfC"),
      let makeSourceLocation = SwiftFunction(
        named: "$s7Testing14SourceLocationV6fileID0D4Path4line6columnACSS_SSS2itcfC"),
      let issue = _typeByName("7Testing5IssueV"),
      let comment = _typeByName("7Testing7CommentV"),
      let sourceLocation = _typeByName("7Testing14SourceLocationV")
    else { return nil }
    return (record, makeComment, makeSourceLocation, issue, comment, sourceLocation)
  }

  /// Calls `Issue.record(_:sourceLocation:)`. Returns `false` if the process has no such function.
  static func record(_ message: String, at callSite: CallSite) -> Bool {
    // Swift Testing ends the process if the file has no module name, or if the line or the column is 0.
    let fileID = callSite.fileID.description
    let file = fileID.contains("/") ? fileID : "Unknown/\(fileID)"
    let line = max(1, Int(clamping: callSite.line))
    let column = max(1, Int(clamping: callSite.column))
    if let compiled = CompiledSwiftTesting.registered {
      compiled.record(message, file, callSite.filePath.description, line, column)
      return true
    }
    guard let calls else { return false }

    func call<Comment, SourceLocation, Issue>(
      _: Comment.Type, _: SourceLocation.Type, _: Issue.Type
    ) {
      let comment = calls.makeComment.as(MakeComment<Comment>.self).call(message)
      let sourceLocation = calls.makeSourceLocation.as(MakeSourceLocation<SourceLocation>.self)
        .call(file, callSite.filePath.description, line, column)
      _ = calls.record.as(Record<Comment, SourceLocation, Issue>.self).call(comment, sourceLocation)
    }
    call(calls.comment, calls.sourceLocation, calls.issue)
    return true
  }
}

/// Calls of Swift Testing by a module that imports it.
package struct CompiledSwiftTesting: Sendable {
  package typealias Record =
    @Sendable (
      _ message: String, _ fileID: String, _ filePath: String, _ line: Int, _ column: Int
    ) -> Void

  let record: Record
  let isRunningTest: @Sendable () -> Bool
  let isRunningCase: @Sendable () -> Bool

  package init(
    record: @escaping Record, isRunningTest: @escaping @Sendable () -> Bool,
    isRunningCase: @escaping @Sendable () -> Bool
  ) {
    (self.record, self.isRunningTest, self.isRunningCase) = (record, isRunningTest, isRunningCase)
  }

  /// Set at load, while there is only one thread. Later only tests change it.
  nonisolated(unsafe) package static var registered: CompiledSwiftTesting?

  /// Called before Swift Testing creates a task that may run a test case. Set at load.
  nonisolated(unsafe) package static var willCreateTask: (@Sendable () -> Void)?
}

enum XCTest {
  // XCTest is not resilient, and the standard library has the types of all parameters, so their layout is known.
  private struct Fail { var call: (String, StaticString, UInt) -> Void }

  /// The symbol of `XCTFail(_:file:line:)`, which names the types of its parameters, too.
  ///
  /// Changed by tests only.
  nonisolated(unsafe) static var failSymbol =
    "$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF"

  private static var fail: SwiftFunction? { SwiftFunction(named: failSymbol) }

  static var canFail: Bool { fail != nil }

  static var isLoaded: Bool { canFail || isLibraryLoaded }

  /// Whether XCTest is loaded, even if its `XCTFail` has another symbol.
  private static let isLibraryLoaded = !LoadedImage.all(named: "libXCTest.so").isEmpty

  /// Whether a test case is running; `nil` with the open-source XCTest, which has no function that tells.
  static var hasCurrentTestCase: Bool? {
    #if canImport(Darwin)
      // The function returns an unretained Objective-C object, so a bare pointer will do.
      let current = RuntimeSymbol.function(
        "_XCTCurrentTestCase", as: (@convention(c) () -> UnsafeRawPointer?).self)
      return current.map { $0() != nil }
    #else
      return nil
    #endif
  }

  /// Whether the error is an `XCTSkip`, by which a test ends without a failure.
  static func isSkip(_ error: any Error) -> Bool {
    String(reflecting: type(of: error)) == "XCTest.XCTSkip"
  }

  /// Calls `XCTFail(_:file:line:)`. Returns whether it was found.
  static func fail(_ message: String, at callSite: CallSite) -> Bool {
    guard let fail else { return false }
    XCTestFailures.withOwnFailure(message) {
      fail.as(Fail.self).call(message, callSite.filePath, callSite.line)
    }
    return true
  }
}

/// A Swift function found in the running process by its symbol.
///
/// Global functions, static methods and initializers have no captured context. (On arm64e the first word would
/// have to be signed. Test processes are arm64.)
struct SwiftFunction {
  private let code: UnsafeMutableRawPointer
  private let context: UnsafeMutableRawPointer?

  /// - Parameter object: The object of a method, which is called like a closure that captured the object.
  init(_ code: UnsafeMutableRawPointer, of object: AnyObject? = nil) {
    self.code = code
    context = object.map { Unmanaged.passUnretained($0).toOpaque() }
  }

  init?(named symbol: String) {
    guard let code = RuntimeSymbol.address(of: symbol) else { return nil }
    self.init(code)
  }

  /// Reinterprets the function as the only field of `Box`. The field must have the function's own type.
  func `as`<Box>(_: Box.Type) -> Box {
    precondition(MemoryLayout<Box>.size == MemoryLayout<SwiftFunction>.size)
    return unsafeBitCast(self, to: Box.self)
  }
}
