import Clocks
import ClocksTestKit
import Synchronization
import Testing

/// An object that all tests share. The first test that uses it starts its loop.
private actor Bus {
  static let ofScopes = Bus()
  static let ofGroups = Bus()
  static let ofClocks = Bus()
  static let ofSlowWork = Bus()

  private var loop: Task<Void, Never>?
  private let (jobs, source) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)

  func submit(_ job: @escaping @Sendable () async -> Void) {
    if loop == nil {
      let jobs = jobs
      loop = Task { for await job in jobs { await job() } }
    }
    source.yield(job)
  }
}

/// A loop that an earlier test has started belongs to the next test that resumes it.
@Suite(.serialized) struct SharedLoopTests {
  private struct Late: Error {}

  @Test(.virtualTime, arguments: 0..<20) func timeDoesNotJumpOverTheLoop(_: Int) async throws {
    let late = Tally()
    let watchdog = Task {
      try await Task.sleep(for: .seconds(30))
      late.add()
    }
    await withCheckedContinuation { continuation in
      Task { await Bus.ofScopes.submit { continuation.resume() } }
    }
    watchdog.cancel()
    #expect(late.value == 0)
  }

  @Test(.virtualTime, arguments: 0..<20) func aTimeoutDoesNotWin(_: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await withCheckedContinuation { continuation in
          Task { await Bus.ofGroups.submit { continuation.resume() } }
        }
      }
      group.addTask {
        try await Task.sleep(for: .seconds(30))
        throw Late()
      }
      try await group.next()
      group.cancelAll()
    }
  }

  @Test(arguments: 0..<20) func advanceWaitsForTheLoop(_: Int) async {
    let clock = TestClock()
    let done = Tally()
    let task = Task {
      try? await clock.sleep(for: .seconds(1))
      await Bus.ofClocks.submit { done.add() }
    }
    await clock.advance(by: .seconds(1))
    #expect(done.value == 1)
    await task.value
  }

  @Test(arguments: 0..<20) func advanceWaitsForSleepsInTheLoop(_: Int) async {
    let clock = TestClock()
    let done = Tally()
    let task = Task {
      try? await clock.sleep(for: .seconds(1))
      await Bus.ofSlowWork.submit {
        for _ in 0..<10 { await Task.yield() }
        try? await clock.sleep(for: .seconds(1))
        done.add()
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(done.value == 0)
    await clock.advance(by: .seconds(1))
    #expect(done.value == 1)
    await task.value
  }
}
