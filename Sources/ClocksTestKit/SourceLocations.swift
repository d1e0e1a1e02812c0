import Clocks
import ClocksSupport
public import Testing

// These are overloads of the functions of Clocks and of this module that have `fileID:`. They have the parameter that
// helpers of Swift Testing have:
//
//   func expectSaid(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async {
//     await clock.eventually(within: .seconds(5), sourceLocation: sourceLocation) { … }
//   }
//
// The parameter has no default value here, so that a call without it is a call of the other overload.

extension CallSite {
  init(_ location: SourceLocation) {
    #if compiler(>=6.3)
      let filePath = location.filePath
    #else
      let filePath = location._filePath
    #endif
    self.init(
      dynamicFileID: location.fileID, filePath: filePath, line: location.line,
      column: location.column)
  }
}

extension TestClock {
  /// Runs the test's tasks as far as they can. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func settle(
    sourceLocation: SourceLocation
  ) async {
    let site = CallSite(sourceLocation)
    await settle(
      fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
  }

  /// Moves time forward by `duration`. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func advance(
    by duration: Duration, sourceLocation: SourceLocation
  ) async {
    let site = CallSite(sourceLocation)
    await advance(
      by: duration, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Moves time forward to `deadline`. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func advance(
    to deadline: Instant, sourceLocation: SourceLocation
  ) async {
    let site = CallSite(sourceLocation)
    await advance(
      to: deadline, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Moves time forward to the next deadline. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep(
    sourceLocation: SourceLocation
  ) async -> Instant? {
    let site = CallSite(sourceLocation)
    return await advanceToNextSleep(
      fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
  }

  /// Moves time forward until `condition` holds, but not beyond `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func advance(
    upTo limit: Duration, until condition: nonisolated(nonsending) () async throws -> Bool,
    sourceLocation: SourceLocation
  ) async rethrows -> Bool {
    let site = CallSite(sourceLocation)
    return try await advance(
      upTo: limit, until: condition, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Moves time forward until no sleep is pending. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func run(
    timeout: Swift.Duration = .milliseconds(500), sourceLocation: SourceLocation
  ) async {
    let site = CallSite(sourceLocation)
    await run(
      timeout: timeout, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Throws if a task still sleeps on this clock. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func checkSuspension(
    sourceLocation: SourceLocation
  ) async throws {
    let site = CallSite(sourceLocation)
    try await checkSuspension(
      fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
  }

  /// Expects that `condition` holds at some time within `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func eventually(
    within limit: Duration, _ comment: Comment? = nil, sourceLocation: SourceLocation,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Duration? {
    let site = CallSite(sourceLocation)
    return try await eventually(
      within: limit, comment, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column, condition)
  }

  /// Expects that `condition` does not hold at any time within `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func never(
    within limit: Duration, _ comment: Comment? = nil, sourceLocation: SourceLocation,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Bool {
    let site = CallSite(sourceLocation)
    return try await never(
      within: limit, comment, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column, condition)
  }
}

extension VirtualTime {
  /// Runs the test's tasks as far as they can. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func settle(
    sourceLocation: SourceLocation
  ) async {
    await clock.settle(sourceLocation: sourceLocation)
  }

  /// Moves time forward by `duration`. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func advance(
    by duration: Duration, sourceLocation: SourceLocation
  ) async {
    await clock.advance(by: duration, sourceLocation: sourceLocation)
  }

  /// Moves time forward to `deadline`. Records failures at `sourceLocation`.
  public nonisolated(nonsending) func advance(
    to deadline: Instant, sourceLocation: SourceLocation
  ) async {
    await clock.advance(to: deadline, sourceLocation: sourceLocation)
  }

  /// Moves time forward to the next deadline. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func advanceToNextSleep(
    sourceLocation: SourceLocation
  ) async -> Instant? {
    await clock.advanceToNextSleep(sourceLocation: sourceLocation)
  }

  /// Moves time forward until `condition` holds, but not beyond `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func advance(
    upTo limit: Duration, until condition: nonisolated(nonsending) () async throws -> Bool,
    sourceLocation: SourceLocation
  ) async rethrows -> Bool {
    try await clock.advance(upTo: limit, until: condition, sourceLocation: sourceLocation)
  }

  /// Expects that `condition` holds at some time within `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func eventually(
    within limit: Duration, _ comment: Comment? = nil, sourceLocation: SourceLocation,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Duration? {
    try await clock.eventually(
      within: limit, comment, sourceLocation: sourceLocation, condition)
  }

  /// Expects that `condition` does not hold at any time within `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func never(
    within limit: Duration, _ comment: Comment? = nil, sourceLocation: SourceLocation,
    _ condition: nonisolated(nonsending) () async throws -> Bool
  ) async rethrows -> Bool {
    try await clock.never(within: limit, comment, sourceLocation: sourceLocation, condition)
  }
}
