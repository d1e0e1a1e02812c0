import Dispatch
import TestTraits
import Testing

@testable import Clocks

/// Which task another thread runs can be seen here.
@Suite struct RunningTaskTests {
  @Test func thePlaceIsKnown() async throws {
    let place = try #require(RunningTask.ofThread)
    let current = try #require(TaskReference.current)
    #expect(!place.isAnother(than: current.job))
  }

  @Test(.blocksAThread) func anotherThreadIsSeenToRunAnotherTask() async throws {
    let (begun, sawIt) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    nonisolated(unsafe) var place: RunningTask?
    nonisolated(unsafe) var other: TaskReference?
    let task = Task.detached { @Sendable in
      other = TaskReference.current
      place = RunningTask.ofThread
      begun.signal()
      sawIt.wait()
    }
    let current = try #require(TaskReference.current)
    begun.wait()
    #expect(place?.isAnother(than: current.job) == true)
    #expect(other.map { place?.isAnother(than: $0.job) } == false)
    sawIt.signal()
    await task.value
  }
}
