import Dispatch
import Synchronization
import TestTraits
import Testing

@testable import Clocks

/// A test is not idle while a scope within it can continue by itself. Time in that scope does not jump while a job of
/// the test can run.
@Suite struct NestedScopesTests {
  @Test(arguments: 0..<20) func anOuterAdvanceWaitsForAnInnerScope(_: Int) async throws {
    try await withVirtualTime { outer in
      let inner = Task {
        try await withVirtualTime { _ in
          for _ in 0..<3 { try await Task.sleep(for: .seconds(1)) }
          await withCheckedContinuation { continuation in
            DispatchQueue(label: "inner").asyncAfter(deadline: .now() + 1) { continuation.resume() }
          }
        }
        try await Task.sleep(for: .seconds(1))
        return outer.now
      }
      await outer.advance(by: .seconds(10))
      #expect(outer.now.offset == .seconds(10))
      let end = try await inner.value
      #expect(end.offset == .seconds(1))
    }
  }

  @Test(arguments: 0..<20) func anAdvanceOfATestClockWaitsForAScope(_: Int) async throws {
    let clock = TestClock()
    let task = Task {
      var instants: [Duration] = []
      for _ in 0..<3 {
        try await withVirtualTime { for _ in 0..<20 { try await Task.sleep(for: .seconds(1)) } }
        try await clock.sleep(for: .seconds(1))
        instants.append(clock.now.offset)
      }
      return instants
    }
    await clock.advance(by: .seconds(3))
    #expect(clock.pendingSleeps.isEmpty)
    #expect(try await task.value == [.seconds(1), .seconds(2), .seconds(3)])
  }

  @Test func aScopeThatWaitsForTheClockOfItsTestIsIdle() async throws {
    let clock = TestClock()
    let tasks = (0..<4).map { _ in
      Task {
        try await withVirtualTime {
          for _ in 0..<5 {
            try await Task.sleep(for: .seconds(1))
            try await clock.sleep(for: .seconds(1))
          }
        }
        return clock.now.offset
      }
    }
    await clock.advance(by: .seconds(5))
    for task in tasks { #expect(try await task.value == .seconds(5)) }
  }

  @Test(arguments: 0..<50) func timeWaitsForTheTasksOfTheScopeAround(_: Int) async throws {
    try await withVirtualTime { _ in
      let (signals, signal) = AsyncStream<Void>.makeStream()
      let other = Task { await signalAfterManyJobs(signal) }
      let waited = try await waitInScope(for: signals, thenFinishing: signal)
      #expect(waited == .zero)
      await other.value
    }
  }

  @Test(arguments: 0..<50) func timeWaitsForTheTasksOfTheTestAround(_: Int) async throws {
    let clock = TestClock()
    let waits = Task {
      var waited: [Duration] = []
      for _ in 0..<3 {
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let other = Task { @MainActor in await signalAfterManyJobs(signal) }
        waited.append(try await waitInScope(for: signals, thenFinishing: signal))
        await other.value
        try await clock.sleep(for: .seconds(1))
      }
      return waited
    }
    await clock.advance(by: .seconds(3))
    #expect(clock.pendingSleeps.isEmpty)
    #expect(try await waits.value == [.zero, .zero, .zero])
  }

  /// The scope in the middle has nothing to do, and the outermost one does.
  @Test(arguments: 0..<50) func timeWaitsForTheTasksOfEachScopeAround(_: Int) async throws {
    try await withVirtualTime { _ in
      let (starts, start) = AsyncStream<Void>.makeStream()
      let (signals, signal) = AsyncStream<Void>.makeStream()
      let other = Task {
        for await _ in starts { break }
        await signalAfterManyJobs(signal)
      }
      let waited = try await withVirtualTime { middle in
        try await Task.sleep(for: .seconds(1))
        start.yield()
        return [middle.now.offset, try await waitInScope(for: signals, thenFinishing: signal)]
      }
      #expect(waited == [.seconds(1), .zero])
      await other.value
    }
  }

  /// Both withhold: the advance waits for the scope, whose time waits for the test's other jobs.
  @Test(arguments: 0..<50) func anAdvanceWaitsForTimeThatWaits(_: Int) async throws {
    let clock = TestClock()
    let (signals, signal) = AsyncStream<Void>.makeStream()
    let scope = Task {
      try await withVirtualTime { for _ in 0..<5 { try await Task.sleep(for: .seconds(1)) } }
      return clock.now.offset
    }
    let other = Task { await signalAfterManyJobs(signal) }
    await clock.advance(by: .seconds(1))
    #expect(clock.now.offset == .seconds(1))
    #expect(try await scope.value == .zero)
    await other.value
    withExtendedLifetime(signals) {}
  }

  /// A job that blocks its thread until time moves in the scope does not keep it from moving forever.
  @Test func timeWaitsForABlockingJobOnlyForAMoment() async throws {
    try await withVirtualTime { _ in
      let ended = DispatchSemaphore(value: 0)
      let blocking = Task { ended.waitWithoutLimit() }
      try await withVirtualTime { inner in
        try await Task.sleep(for: .seconds(60))
        #expect(inner.now.offset == .seconds(60))
        ended.signal()
      }
      await blocking.value
    }
  }

  /// A test that polls until the scope is over delays the scope once, and not before each jump.
  ///
  /// The delay is ten seconds of served time: on a busy machine, up to 16 times as long.
  @Test(.timeLimit(.minutes(20))) func timeWaitsOnlyOnceForATestThatPolls() async throws {
    let clock = TestClock()
    await clock.settle()
    let isOver = Atomic(false)
    async let inner = withVirtualTime { time in
      var ignored: [Bool] = []
      for _ in 0..<20 {
        try await Task.sleep(for: .seconds(1))
        ignored.append(time.scheduler.change { $0.scope?.pace.ignoresTestAround == true })
      }
      isOver.store(true, ordering: .relaxed)
      #expect(time.now.offset == .seconds(20))
      return ignored
    }
    // The time limit cancels the test.
    while !isOver.load(ordering: .relaxed), !Task.isCancelled { await Task.yield() }
    #expect(try await inner == Array(repeating: true, count: 20))
  }

  /// Many scopes wait for the test around them at the same time.
  @Test func timeMovesInAHundredScopesOfOneTest() async throws {
    let clock = TestClock()
    let test = Task {
      try await withThrowingTaskGroup { group in
        for _ in 0..<100 {
          group.addTask {
            try await withVirtualTime { time in
              for _ in 0..<5 { try await Task.sleep(for: .seconds(1)) }
              return time.now.offset
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    await clock.settle()
    #expect(try await test.value == Array(repeating: .seconds(5), count: 100))
  }

  @Test func theOrderInWhichTwoChangesComeDoesNotMatter() {
    let (first, second) = (Scheduler(origin: .here()), Scheduler(origin: .here()))
    var scopes = BusyScopes()
    #expect(!scopes.areAny)
    scopes.note(first, 1)
    scopes.note(second, -1)
    #expect(scopes.areAny)
    scopes.note(first, -1)
    #expect(scopes.areAny)
    scopes.note(second, 1)
    #expect(!scopes.areAny)
  }
}

/// Signals after more jobs than the other thread needs for a jump.
private func signalAfterManyJobs(_ signal: AsyncStream<Void>.Continuation) async {
  for _ in 0..<100 { await Task {}.value }
  signal.yield()
}

/// Waits in a scope, but not longer than a second of its time. Returns how long it has waited.
private func waitInScope(
  for signals: AsyncStream<Void>, thenFinishing signal: AsyncStream<Void>.Continuation
) async throws -> Duration {
  try await withVirtualTime { time in
    let limit = Task {
      try await Task.sleep(for: .seconds(1))
      signal.finish()
    }
    for await _ in signals { break }
    limit.cancel()
    return time.now.offset
  }
}

extension DispatchSemaphore {
  fileprivate func waitWithoutLimit() { wait() }
}
