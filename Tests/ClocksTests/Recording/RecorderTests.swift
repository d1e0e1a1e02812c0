import ClocksDrawing
import Testing

@testable import Clocks

/// What a recorder notes when it is called directly.
@Suite struct RecorderTests {
  /// On Apple's systems, the name of a task cannot be read before the task runs.
  @Test func aNameThatCannotBeReadIsLookedUpWhenItsTaskSleeps() async throws {
    let recorder = Recorder()
    let sleeper = Task(name: "sleeper") {
      let task = try #require(UnownedTask.current)
      recorder.see(task.job, task.id, readsNames: false)
      recorder.record(RecordedEvent(.slept, task: task.id, time: .seconds(1)))
    }
    try await sleeper.value
    #expect(recorder.timeline.lanes() == "time  sleeper\n0 s   sleeps until 1 s")
  }
}
