import Testing

@testable import Clocks

/// When a task that was away counts as back.
@Suite struct AwayRegisterTests {
  private final class Owner: TaskOwner, @unchecked Sendable {
    let back = AsyncStream.makeStream(of: UInt64.self)
    let log = Log<UInt64>()

    override func taskIsBack(_ task: UInt64, _ absence: UInt64) {
      log.add(task)
      back.continuation.yield(task)
    }
  }

  /// A task that is about to be suspended is written down as suspended a moment before it is, and goes on if it
  /// is resumed just then.
  @Test func aTaskIsNotBackBeforeItsOwnJobHasEnded() async throws {
    let clock = TestClock()
    let owner = Owner(isVirtual: false)
    let handles = AsyncStream.makeStream(of: TaskHandle.self)
    let task = Task {
      handles.continuation.yield(try #require(TaskReference.current?.watchableHandle))
      try await clock.sleep(for: .seconds(1))
    }
    await clock.settle()
    let handle = try #require(await handles.stream.first { _ in true })
    #expect(!TaskStatus(of: handle.job).isActive)

    let job = AwayRegister.beginJob(of: handle.id)
    try #require(AwayRegister.add(handle, of: owner, isOwnersToLookAt: false) != nil)
    AwayRegister.look()
    #expect(owner.log.all == [])
    AwayRegister.endJob(job)
    // At once, or when the queues of other tests' actors have come to their ends that ran at that moment.
    #expect(await owner.back.stream.first { _ in true } == handle.id)

    await clock.advance(by: .seconds(1))
    try await task.value
  }
}
