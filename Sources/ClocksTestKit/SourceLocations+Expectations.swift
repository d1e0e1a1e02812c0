import Clocks
import ClocksSupport
public import Testing

// See SourceLocations.swift.

extension TimedExpectation {
  /// Expects the count of events within `limit`. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func wait(
    within limit: Duration, on clock: TestClock<Duration>? = nil, sourceLocation: SourceLocation
  ) async -> Duration? {
    await wait(within: limit, on: clock, at: CallSite(sourceLocation))
  }

  /// Expects the count of events within `limit`, on a clock with custom durations.
  /// Records failures at `sourceLocation`.
  @discardableResult
  @_disfavoredOverload
  public nonisolated(nonsending) func wait<OtherDuration>(
    within limit: OtherDuration, on clock: TestClock<OtherDuration>, sourceLocation: SourceLocation
  ) async -> OtherDuration? {
    await follow(clock, within: limit, at: CallSite(sourceLocation))
  }
}

extension Probe {
  /// Begins to read. The first element is requested when the current task suspends.
  /// Records failures at `sourceLocation`.
  public convenience init<Elements: AsyncSequence & SendableMetatype>(
    _ sequence: sending Elements, on clock: TestClock<Duration>? = nil,
    sourceLocation: SourceLocation
  ) where Elements.Element == Element, Elements.AsyncIterator: SendableMetatype {
    let site = CallSite(sourceLocation)
    self.init(
      sequence, on: clock, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Expects an element within `limit` from now, and returns it. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func next(
    within limit: Duration, sourceLocation: SourceLocation
  ) async -> Element? {
    let site = CallSite(sourceLocation)
    return await next(
      within: limit, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Checks that nothing arrives within `duration` from now. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func expectNothing(
    for duration: Duration = .zero, sourceLocation: SourceLocation
  ) async -> Bool {
    let site = CallSite(sourceLocation)
    return await expectNothing(
      for: duration, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Checks that the sequence ends within `limit` from now. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func expectEnd(
    within limit: Duration, sourceLocation: SourceLocation
  ) async -> Duration? {
    let site = CallSite(sourceLocation)
    return await expectEnd(
      within: limit, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Expects that the sequence throws an error within `limit` from now, and returns the error.
  /// Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func expectError(
    within limit: Duration, sourceLocation: SourceLocation
  ) async -> (any Error)? {
    let site = CallSite(sourceLocation)
    return await expectError(
      within: limit, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }

  /// Cancels the task that reads, and checks that every event was taken. Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func finish(
    sourceLocation: SourceLocation
  ) async -> Bool {
    let site = CallSite(sourceLocation)
    return await finish(
      fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
  }
}

extension Probe where Element: Equatable {
  /// Expects that the next event is an element equal to `element`, within `limit` from now.
  /// Records failures at `sourceLocation`.
  @discardableResult
  public nonisolated(nonsending) func expectNext(
    _ element: Element, within limit: Duration, sourceLocation: SourceLocation
  ) async -> Bool {
    let site = CallSite(sourceLocation)
    return await expectNext(
      element, within: limit, fileID: site.fileID, filePath: site.filePath, line: site.line,
      column: site.column)
  }
}

/// Expects an exact number of confirmations while `body` runs and within a virtual time after it.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func confirmation<Result>(
  _ comment: Comment? = nil, expectedCount: Int = 1, within limit: Duration,
  on clock: TestClock<Duration>? = nil, sourceLocation: SourceLocation,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  try await confirm(
    TimedExpectation(comment, ExpectedCount(expectedCount)), within: limit, on: clock,
    at: CallSite(sourceLocation), body)
}

/// Expects a range of confirmations while `body` runs and within a virtual time after it.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func confirmation<Result>(
  _ comment: Comment? = nil,
  expectedCount: some RangeExpression<Int> & Sequence<Int> & Sendable, within limit: Duration,
  on clock: TestClock<Duration>? = nil, sourceLocation: SourceLocation,
  _ body: nonisolated(nonsending) (TimedExpectation) async throws -> Result
) async rethrows -> Result {
  try await confirm(
    TimedExpectation(comment, ExpectedCount(expectedCount)), within: limit, on: clock,
    at: CallSite(sourceLocation), body)
}

/// Checks that a sequence does what a diagram shows: which values arrive when, and how it ends.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func expectTimeline<Elements: AsyncSequence & SendableMetatype>(
  of sequence: sending Elements, _ diagram: String, every step: Duration = .seconds(1),
  values: [Character: Elements.Element], error isExpected: (any Error) -> Bool = { _ in true },
  on clock: TestClock<Duration>? = nil, sourceLocation: SourceLocation
) async -> Bool
where Elements.Element: Equatable & Sendable, Elements.AsyncIterator: SendableMetatype {
  let site = CallSite(sourceLocation)
  return await expectTimeline(
    of: sequence, diagram, every: step, values: values, error: isExpected, on: clock,
    fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column)
}

/// Checks that a sequence does what a diagram shows. Values appear in it as their descriptions.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func expectTimeline<Elements: AsyncSequence & SendableMetatype>(
  of sequence: sending Elements, _ diagram: String, every step: Duration = .seconds(1),
  error isExpected: (any Error) -> Bool = { _ in true }, on clock: TestClock<Duration>? = nil,
  sourceLocation: SourceLocation
) async -> Bool where Elements.AsyncIterator: SendableMetatype {
  let site = CallSite(sourceLocation)
  return await expectTimeline(
    of: sequence, diagram, every: step, error: isExpected, on: clock, fileID: site.fileID,
    filePath: site.filePath, line: site.line, column: site.column)
}
