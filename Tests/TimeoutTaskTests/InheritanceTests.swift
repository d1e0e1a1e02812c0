import Clocks
import Testing
import TimeoutTask

/// What work inherits from the tasks that start and await its `TimeoutTask`.
@Suite struct InheritanceTests {
  @TaskLocal static var number = 0

  let clock = TestClock()

  @Test func taskLocalValuesPassToTheWork() async throws {
    let task = InheritanceTests.$number.withValue(5) {
      TimeoutTask(timeout: .seconds(1), clock: clock) { InheritanceTests.number }
    }
    #expect(try await task.value == 5)
  }

  @Test func theNamePassesToTheWork() async throws {
    let named = TimeoutTask(timeout: .seconds(1), clock: clock, name: "load") { Task.name }
    #expect(try await named.value == "load")
    let unnamed = TimeoutTask(timeout: .seconds(1), clock: clock) { Task.name }
    #expect(try await unnamed.value == nil)
  }

  @Test func thePriorityPassesToTheWork() async throws {
    let explicit = TimeoutTask(timeout: .seconds(1), clock: clock, priority: .utility) {
      Task.basePriority
    }
    #expect(try await explicit.value == .utility)
    let inherited = try await Task(priority: .low) { [clock] in
      try await TimeoutTask(timeout: .seconds(1), clock: clock) { Task.basePriority }.value
    }.value
    #expect(inherited == .low)
  }

  @Test func aWaiterOfHigherPriorityEscalatesTheWork() async throws {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock, priority: .background) {
      await gate.pass()
      return Task.currentPriority
    }
    let waiter = Task(priority: .high) { try await task.value }
    await clock.settle()
    gate.open()
    #expect(try await waiter.value >= .high)
  }

  @Test func aWaiterThatIsEscalatedWhileItWaitsEscalatesTheWork() async throws {
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock, priority: .background) {
      await gate.pass()
      return Task.currentPriority
    }
    let waiter = Task(priority: .background) { try await task.value }
    await clock.settle()
    waiter.escalatePriority(to: .high)
    gate.open()
    await clock.settle()
    #expect(try await task.value >= .high)
    _ = waiter
  }

  /// The timer frees a waiter whose work takes too long.
  @Test func aWaiterOfHigherPriorityEscalatesTheTimerToo() async {
    let clock = PriorityClock()
    let gate = Gate()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock, priority: .background) {
      await gate.pass()
    }
    let waiter = Task(priority: .high) { await task.result }
    await self.clock.settle()
    #expect(clock.gate.isClosed)
    clock.gate.open()
    _ = await waiter.value
    #expect(clock.priorities.all.allSatisfy { $0 >= .high })
    #expect(clock.priorities.all.count == 1)
    gate.open()
  }

  @Test func aCallerThatIsEscalatedEscalatesTheTimerOfItsDeadline() async {
    let clock = PriorityClock()
    let caller = Task(priority: .background) {
      try await withTimeout(.seconds(1), clock: clock) {
        await withTaskCancellationHandler {
          await clock.woken.pass()
        } onCancel: {
          clock.woken.open()
        }
      }
    }
    await self.clock.settle()
    caller.escalatePriority(to: .high)
    clock.gate.open()
    _ = await caller.result
    #expect(clock.priorities.all.allSatisfy { $0 >= .high })
    #expect(clock.priorities.all.count == 1)
  }

  /// Records the priorities at which its sleeps end.
  private final class PriorityClock: Clock {
    let gate = Gate()
    let woken = Gate()
    let priorities = Log<TaskPriority>()
    let now = ContinuousClock.now
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      await gate.pass()
      priorities.add(Task.currentPriority)
    }
  }

  @Test @MainActor func theWorkHasTheIsolationOfItsContext() async throws {
    var count = 0
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
      MainActor.preconditionIsolated()
      count += 1
    }
    try await task.value
    #expect(count == 1)
  }

  @Test func theWorkMayDeclareItsIsolation() async throws {
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { @MainActor in
      MainActor.preconditionIsolated()
      return 1
    }
    #expect(try await task.value == 1)
  }
}
