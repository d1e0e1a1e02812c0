import ClocksSupport
import Dispatch
import Foundation
import Testing

@testable import Clocks

/// The three places at which others build on the engine: what comes first, what happens, and work
/// that is away.
@Suite struct SeamTests {
  // MARK: - What comes first

  /// Chooses as it is told, and notes what there was to choose from.
  private final class Choosing: Chooser {
    let asked = Log<[Candidate]>()
    let choice: @Sendable ([Candidate]) -> Int
    init(_ choice: @escaping @Sendable ([Candidate]) -> Int) { self.choice = choice }

    func choose(among candidates: borrowing ScratchBuffer<Candidate>) -> Int {
      asked.add(candidates.all)
      return choice(candidates.all)
    }
  }

  @Test func aChooserOrdersTheReadyJobs() async {
    let clock = TestClock()
    let log = Log<Int>()
    for number in 0..<4 { Task { log.add(number) } }
    let last = Choosing { $0.count - 1 }
    clock.scheduler.change { $0.order.chooser = last }
    await clock.settle()
    clock.scheduler.change { $0.order.chooser = nil }
    #expect(log.all == [3, 2, 1, 0])
    #expect(last.asked.all.map(\.count) == [4, 3, 2])
  }

  @Test func jobsOfTheMainActorKeepTheirOrder() async {
    let clock = TestClock()
    let log = Log<String>()
    Task { @MainActor in log.add("main 1") }
    Task { log.add("pool 1") }
    Task { @MainActor in log.add("main 2") }
    Task { log.add("pool 2") }
    let last = Choosing { $0.count - 1 }
    clock.scheduler.change { $0.order.chooser = last }
    await clock.settle()
    clock.scheduler.change { $0.order.chooser = nil }
    // Each time the first job of the main actor is a candidate, and no other of it.
    #expect(log.all == ["pool 2", "pool 1", "main 1", "main 2"])
    #expect(last.asked.all.map(\.count) == [3, 2])
  }

  @Test func aChooserOrdersSleepsOfOneDeadline() async {
    let clock = TestClock()
    let log = Log<Int>()
    for number in 0..<3 {
      Task {
        try await clock.sleep(for: .seconds(1))
        log.add(number)
      }
    }
    Task {
      try await clock.sleep(for: .seconds(2))
      log.add(9)
    }
    await clock.settle()
    let last = Choosing { candidates in
      // The woken task runs; then the last sleep wakes that is due.
      if case .job = candidates[0] { 0 } else { candidates.count - 1 }
    }
    clock.scheduler.change { $0.order.chooser = last }
    await clock.advance(by: .seconds(2))
    clock.scheduler.change { $0.order.chooser = nil }
    #expect(log.all == [2, 1, 0, 9])
  }

  /// Wakes every sleep that is due before it lets a job run.
  private var sleepsFirst: Choosing {
    Choosing { candidates in
      candidates.firstIndex { if case .sleep = $0 { true } else { false } } ?? 0
    }
  }

  @Test func aChooserMayWakeASleepThatIsDueBeforeAReadyJobRuns() async {
    let clock = TestClock()
    let ids = Log<UInt64>()
    for _ in 0..<2 {
      Task {
        ids.add(UnownedTask.currentID ?? 0)
        try await clock.sleep(for: .seconds(1))
      }
    }
    await clock.settle()
    let (chooser, events) = (sleepsFirst, Events())
    clock.scheduler.change {
      $0.order.chooser = chooser
      $0.listener = events
    }
    await clock.advance(by: .seconds(1))
    clock.scheduler.change {
      $0.order.chooser = nil
      $0.listener = nil
    }
    let (first, second) = (ids.all[0], ids.all[1])
    #expect(
      chooser.asked.all == [
        [.sleep(number: 0, task: first), .sleep(number: 1, task: second)],
        [.job(position: 0, task: first, executor: .pool), .sleep(number: 1, task: second)],
        [
          .job(position: 0, task: first, executor: .pool),
          .job(position: 1, task: second, executor: .pool),
        ],
      ])
    let woken = events.log.all.filter { if case .sleepWoken = $0 { true } else { false } }
    #expect(woken == [.sleepWoken(number: 0, task: first), .sleepWoken(number: 1, task: second)])
  }

  @Test func aChooserMayWakeASleepThatIsDueInAScopeBeforeAReadyJobRuns() async throws {
    let chooser = sleepsFirst
    try await withVirtualTime { time in
      let ids = Log<UInt64>()
      let tasks = (0..<2).map { _ in
        Task {
          ids.add(UnownedTask.currentID ?? 0)
          try await time.clock.sleep(for: .seconds(1))
        }
      }
      time.scheduler.change { $0.order.chooser = chooser }
      for task in tasks { try await task.value }
      time.scheduler.change { $0.order.chooser = nil }
      let (first, second) = (ids.all[0], ids.all[1])
      let withSleeps = chooser.asked.all.filter {
        $0.contains { if case .sleep = $0 { true } else { false } }
      }
      #expect(
        withSleeps == [
          [.sleep(number: 0, task: first), .sleep(number: 1, task: second)],
          [.job(position: 0, task: first, executor: .pool), .sleep(number: 1, task: second)],
        ])
    }
  }

  @Test func anAnswerOutOfRangeStandsForTheFirst() async {
    let clock = TestClock()
    let log = Log<Int>()
    for number in 0..<3 { Task { log.add(number) } }
    let silly = Choosing { _ in .max }
    clock.scheduler.change { $0.order.chooser = silly }
    await clock.settle()
    clock.scheduler.change { $0.order.chooser = nil }
    #expect(log.all == [0, 1, 2])
  }

  // MARK: - What happens

  private final class Events: EventListener {
    let log = Log<SchedulerEvent>()
    func hear(_ event: SchedulerEvent) { log.add(event) }
  }

  @Test func anObserverIsToldWhatHappensInOrder() async throws {
    let clock = TestClock()
    // From here on the scheduler runs each job of this task, and sees it end. It did not start the first one.
    await clock.settle()
    let events = Events()
    clock.scheduler.change { $0.listener = events }
    let me = try #require(UnownedTask.currentID)
    let ids = Log<UInt64>()
    let sleeper = Task {
      ids.add(UnownedTask.currentID ?? 0)
      try? await clock.sleep(for: .seconds(1))
      try? await clock.sleep(for: .seconds(5))
    }
    await clock.advance(by: .seconds(1))
    sleeper.cancel()
    await clock.settle()
    clock.scheduler.change { $0.listener = nil }
    let task = try #require(ids.all.first)
    #expect(
      events.log.all == [
        .taskCreated(task, by: me),
        .jobEnqueued(task: task, by: me, .pool),
        .jobEnded(task: me),
        .jobBegan(task: task, .pool),
        .sleepRegistered(number: 0, task: task, until: .seconds(1)),
        .jobEnded(task: task),
        .timeMoved(to: .seconds(1)),
        .sleepWoken(number: 0, task: task),
        .jobEnqueued(task: task, by: 0, .pool),
        .jobBegan(task: task, .pool),
        .sleepRegistered(number: 1, task: task, until: .seconds(6)),
        .jobEnded(task: task),
        // This task goes on after the advance: its job ends when it waits again.
        .jobEnqueued(task: me, by: 0, .pool),
        .jobBegan(task: me, .pool),
        .sleepCancelled(number: 1, task: task),
        .jobEnqueued(task: task, by: me, .pool),
        .jobEnded(task: me),
        .jobBegan(task: task, .pool),
        .jobEnded(task: task),
        .jobEnqueued(task: me, by: 0, .pool),
        .jobBegan(task: me, .pool),
      ])
  }

  @Test func jumpsOfAScopeAreEvents() async throws {
    let events = Events()
    try await withVirtualTime { time in
      time.scheduler.change { $0.listener = events }
      try await time.clock.sleep(for: .seconds(3))
      time.scheduler.change { $0.listener = nil }
    }
    let moves = events.log.all.filter { if case .timeMoved = $0 { true } else { false } }
    #expect(moves == [.timeMoved(to: .seconds(3))])
  }

  // MARK: - Work that is away

  /// A task that has ended before the test, and stands for one that runs elsewhere.
  private static func externalTask() async -> RetainedTask {
    let task = Task.detached {}
    await task.value
    return UnownedTask(job: unsafeBitCast(task, to: UnownedJob.self)).handle
  }

  @Test func anObserverIsToldWhichTaskBecameExternalAndReturned() async {
    let task = await Self.externalTask()
    let events = Events()
    let scheduler = Scheduler(origin: .here())
    scheduler.change { $0.listener = events }
    scheduler.externalJobBegan(task.job)
    scheduler.externalJobBegan(task.job)
    #expect(events.log.all == [.taskBecameExternal(task.id)])
    #expect(scheduler.change { $0.idleness.isQuiet } == false)
    scheduler.externalJobEnded(task.id)
    #expect(events.log.all == [.taskBecameExternal(task.id)])
    scheduler.externalJobEnded(task.id)
    #expect(events.log.all == [.taskBecameExternal(task.id), .taskReturned(task.id)])
    scheduler.externalJobEnded(task.id)
    #expect(events.log.all.count == 2)
  }

  @Test func idlenessWaitsForAnExternalTaskAndReadyJobsDoNot() async {
    let task = await Self.externalTask()
    let clock = TestClock()
    let isBack = Tally()
    let log = Log<String>()
    clock.scheduler.externalJobBegan(task.job)
    Task { log.add(isBack.value == 1 ? "late" : "early") }
    onAThread {
      // Unless the job is kept back until then.
      let end = RealTime(in: .seconds(60))
      while log.all.isEmpty, !end.hasPassed { usleep(1_000) }
      isBack.add()
      clock.scheduler.externalJobEnded(task.id)
    }
    await clock.settle()
    #expect(isBack.value == 1)
    #expect(log.all == ["early"])
  }

  @Test func timeDoesNotJumpWhileATaskIsExternal() async throws {
    let task = await Self.externalTask()
    try await withVirtualTime { time in
      let scheduler = time.scheduler
      let isBack = Tally()
      scheduler.externalJobBegan(task.job)
      onAThread(after: 0.05) {
        isBack.add()
        scheduler.externalJobEnded(task.id)
      }
      try await Task.sleep(for: .seconds(1))
      #expect(isBack.value == 1)
    }
  }
}
