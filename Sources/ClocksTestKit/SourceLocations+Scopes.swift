import Clocks
import ClocksSupport
public import Testing

// See SourceLocations.swift.

/// Runs `operation` in a scope in which all time is virtual, and returns its result.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withVirtualTime<Result>(
  autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
  freezesDate: Bool = true, runningLimit: Duration = .seconds(60),
  sourceLocation: SourceLocation,
  operation: nonisolated(nonsending) (VirtualTime) async throws -> Result
) async throws -> Result {
  let site = CallSite(sourceLocation)
  return try await withVirtualTime(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit,
    fileID: site.fileID, filePath: site.filePath, line: site.line, column: site.column,
    operation: operation)
}

/// Runs `operation`, which does not need the scope, in a scope in which all time is virtual.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withVirtualTime<Result>(
  autoAdvance: Bool = true, jumpsAfter: Duration? = nil,
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, stuckAfter: Duration = .seconds(5),
  freezesDate: Bool = true, runningLimit: Duration = .seconds(60),
  sourceLocation: SourceLocation,
  operation: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
  try await withVirtualTime(
    autoAdvance: autoAdvance, jumpsAfter: jumpsAfter, leftoverSleeps: leftoverSleeps,
    stuckAfter: stuckAfter, freezesDate: freezesDate, runningLimit: runningLimit,
    sourceLocation: sourceLocation
  ) { _ in try await operation() }
}

/// Runs `operation` in many orders of its jobs, in virtual time, and explains the first failure.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: ScheduleCount = .standard, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  let site = CallSite(sourceLocation)
  return try await withSchedules(
    count, seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, fileID: site.fileID,
    filePath: site.filePath, line: site.line, column: site.column, function: function,
    operation: operation)
}

/// Runs `operation` in up to `count` orders of its jobs.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: Int, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .upTo(count), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, sourceLocation: sourceLocation,
    function: function, operation: operation)
}

/// Runs `operation` in as many orders of its jobs as fit into `duration` of real time.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  for duration: Duration, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping (VirtualTime) async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .lasting(duration), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, sourceLocation: sourceLocation,
    function: function, operation: operation)
}

/// Runs `operation`, which does not need the scope, in many orders of its jobs.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: ScheduleCount = .standard, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    count, seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, sourceLocation: sourceLocation,
    function: function
  ) { _ in try await operation() }
}

/// Runs `operation`, which does not need the scope, in up to `count` orders of its jobs.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  _ count: Int, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .upTo(count), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, sourceLocation: sourceLocation,
    function: function
  ) { _ in try await operation() }
}

/// Runs `operation`, which does not need the scope, in as many orders as fit into `duration`.
///
/// A helper should take the `function` of its caller and pass it on, because the seed follows from the test's name.
/// Records failures at `sourceLocation`.
@discardableResult
public nonisolated(nonsending) func withSchedules(
  for duration: Duration, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
  stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = [],
  leftoverSleeps: VirtualTime.LeftoverSleeps = .cancel, sourceLocation: SourceLocation,
  function: StaticString = #function,
  @_implicitSelfCapture operation: @escaping () async throws -> Void
) async throws -> ScheduleSummary? {
  try await withSchedules(
    .lasting(duration), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
    explores: explores, leftoverSleeps: leftoverSleeps, sourceLocation: sourceLocation,
    function: function
  ) { _ in try await operation() }
}
