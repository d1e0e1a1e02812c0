import Dispatch
import TestTraits
import Testing

@testable import Clocks

/// The task that another thread runs.
@Suite struct CurrentTaskSlotTests {
  @Test func thePlaceIsKnown() async throws {
    let place = try #require(CurrentTaskSlot.ofThread)
    let current = try #require(UnownedTask.current)
    #expect(!place.isAnother(than: current.job))
  }

  @Test(.blocksAThread) func anotherThreadIsSeenToRunAnotherTask() async throws {
    let (begun, sawIt) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    nonisolated(unsafe) var place: CurrentTaskSlot?
    nonisolated(unsafe) var other: UnownedTask?
    let task = Task.detached { @Sendable in
      other = UnownedTask.current
      place = CurrentTaskSlot.ofThread
      begun.signal()
      sawIt.wait()
    }
    let current = try #require(UnownedTask.current)
    begun.wait()
    #expect(place?.isAnother(than: current.job) == true)
    #expect(other.map { place?.isAnother(than: $0.job) } == false)
    sawIt.signal()
    await task.value
  }
}
