import Testing

@testable import Clocks

@Suite struct ThreadContextTests {
  /// The job that wakes a sleep may be that of an executor, and make other tasks ready.
  @Test func onlyTheTaskThatIsBeingWokenIsTakenWithoutALookUp() {
    let tasks = [Task.detached {}, Task.detached {}]
    let (waking, other) = (
      unsafeBitCast(tasks[0], to: UnownedJob.self), unsafeBitCast(tasks[1], to: UnownedJob.self)
    )
    var context = ThreadContext()
    context.wakingTask = taskID(of: waking)
    let takesOther = context.takes(other, on: .pool)
    #expect(!takesOther && context.taken == nil)
    let takesWaking = context.takes(waking, on: .main)
    #expect(takesWaking)
    #expect(context.taken?.taskID == taskID(of: waking))
    #expect(context.taken?.executor == .main)
    let takesAgain = context.takes(waking, on: .pool)
    #expect(!takesAgain)
    withExtendedLifetime(tasks) {}
  }

  /// A test's first job has no context if there was no owner when it began.
  @Test func aNewTaskIsSeenFromAThreadWithoutAContext() async {
    let clock = TestClock()
    await withTaskGroup { group in
      ThreadContext.withoutContext {
        for _ in 0..<10 { group.addTask { try? await clock.sleep(for: .seconds(1)) } }
      }
      let children = clock.scheduler.change { state in
        state.liveTasks.all.filter { $0.id != UnownedTask.currentID }
          .map { state.idleness.externalTasks.state(of: $0.id) }
      }
      #expect(children == Array(repeating: .none, count: 10))
      await clock.settle()
      #expect(clock.pendingSleeps.count == 10)
      await clock.advance(by: .seconds(1))
    }
  }
}
