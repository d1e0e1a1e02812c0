import ClocksDrawing
import ClocksSupport
import Dispatch
import Foundation
import Testing

@testable import Clocks

/// Code that builds on the scheduler: it chooses the order, records events, and reports external work.
@Suite struct SchedulerClientTests {
  // MARK: - What comes first

  /// Chooses as `choice` says, and records the candidates.
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
    let (chooser, recorder) = (sleepsFirst, Recorder())
    clock.scheduler.change {
      $0.order.chooser = chooser
      $0.recorder = recorder
    }
    await clock.advance(by: .seconds(1))
    clock.scheduler.change {
      $0.order.chooser = nil
      $0.recorder = nil
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
    #expect(recorder.events.filter { $0.kind == .woken }.map(\.task) == [first, second])
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
    #expect(silly.asked.all.map(\.count) == [3, 2])
  }

  // MARK: - What happens

  @Test func theRecorderGetsEventsInOrder() async throws {
    let clock = TestClock()
    // From here on the scheduler runs each job of this task, and sees it end. It did not start the first one.
    await clock.settle()
    let recorder = Recorder()
    clock.scheduler.change { $0.recorder = recorder }
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
    clock.scheduler.change { $0.recorder = nil }
    let task = try #require(ids.all.first)
    #expect(
      recorder.events == [
        .init(.created, task: task, other: me),
        .init(.enqueued, task: task, other: me),
        .init(.ended, task: me),
        .init(.began, task: task),
        .init(.slept, task: task, time: .seconds(1)),
        .init(.ended, task: task),
        .init(.timeMoved, time: .seconds(1)),
        .init(.woken, task: task),
        .init(.enqueued, task: task),
        .init(.began, task: task),
        .init(.slept, task: task, time: .seconds(6)),
        .init(.ended, task: task),
        // This task continues after the advance: its job ends when it waits again.
        .init(.enqueued, task: me),
        .init(.began, task: me),
        .init(.cancelled, task: task),
        .init(.enqueued, task: task, other: me),
        .init(.ended, task: me),
        .init(.began, task: task),
        .init(.ended, task: task),
        .init(.enqueued, task: me),
        .init(.began, task: me),
      ])
  }

  @Test func jumpsOfAScopeAreEvents() async throws {
    let recorder = Recorder()
    try await withVirtualTime { time in
      time.scheduler.change { $0.recorder = recorder }
      try await time.clock.sleep(for: .seconds(3))
      time.scheduler.change { $0.recorder = nil }
    }
    let moves = recorder.events.filter { $0.kind == .timeMoved }
    #expect(moves == [.init(.timeMoved, time: .seconds(3))])
  }

  // MARK: - External work

  /// A task that has ended before the test, and stands for one that runs elsewhere.
  private static func externalTask() async -> RetainedTask {
    let task = Task.detached {}
    await task.value
    return .retaining(task)
  }

  @Test func theRecorderGetsTheTasksThatBecameExternalAndReturned() async {
    let task = await Self.externalTask()
    let recorder = Recorder()
    let scheduler = Scheduler(origin: .here())
    scheduler.change { $0.recorder = recorder }
    scheduler.externalJobBegan(task.job)
    scheduler.externalJobBegan(task.job)
    #expect(recorder.events == [.init(.becameExternal, task: task.id)])
    #expect(scheduler.change { $0.idleness.isQuiet } == false)
    scheduler.externalJobEnded(task.id)
    #expect(recorder.events == [.init(.becameExternal, task: task.id)])
    scheduler.externalJobEnded(task.id)
    #expect(
      recorder.events == [.init(.becameExternal, task: task.id), .init(.returned, task: task.id)])
    scheduler.externalJobEnded(task.id)
    #expect(recorder.events.count == 2)
  }

  @Test func idlenessWaitsForAnExternalTaskAndReadyJobsDoNot() async {
    let task = await Self.externalTask()
    let clock = TestClock()
    let isBack = Tally()
    let log = Log<String>()
    clock.scheduler.externalJobBegan(task.job)
    Task { log.add(isBack.value == 1 ? "late" : "early") }
    onAThread {
      // Waits for the job, which a broken scheduler would hold back until the external job has ended.
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
