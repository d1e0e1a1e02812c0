import ClocksSupport
import ClocksTestKit
import Foundation
import TestTraits
import Testing

@testable import Clocks
@testable import ClocksSearch

private enum Note {
  @TaskLocal static var text = ""
}

private actor Desk {
  func work(_ time: VirtualTime, _ log: Log<String>) {
    log.add("a1")
    time.checkpoint("work")
    preconditionIsolated()
    log.add("a2")
  }

  func rest(_ log: Log<String>) { log.add("b") }

  func pause(_ log: Log<String>) { log.add("c") }
}

/// An actor with an executor of its own.
@globalActor private actor Bench {
  static let shared = Bench()
  private static let executor = LoopExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}

/// Checkpoints in each isolation, in conditions, and in runs that do not end.
@Suite struct CheckpointTests {
  /// The orders in which three tasks write, in all schedules.
  private func orders(
    _ operation: @escaping @Sendable (VirtualTime, Log<String>) async -> Void
  ) async throws -> Set<String> {
    let orders = Log<String>()
    let summary = try await withSchedules(2_000) { time in
      let log = Log<String>()
      await operation(time, log)
      orders.add(log.all.joined(separator: " "))
    }
    #expect(summary?.isComplete == true)
    return Set(orders.all)
  }

  @Test func noJobOfTheMainThreadComesBetween() async throws {
    let found = try await orders { time, log in
      let a = Task { @MainActor in
        log.add("a1")
        time.checkpoint("main")
        MainActor.preconditionIsolated()
        dispatchPrecondition(condition: .onQueue(.main))
        log.add("a2")
      }
      let b = Task { @MainActor in log.add("b") }
      let c = Task { log.add("c") }
      _ = await (a.value, b.value, c.value)
    }
    // Jobs of the main actor run in the order in which they were enqueued.
    #expect(found == ["c a1 a2 b", "a1 c a2 b", "a1 a2 c b", "a1 a2 b c"])
  }

  @Test func noJobOfTheActorComesBetween() async throws {
    let found = try await orders { time, log in
      let desk = Desk()
      let a = Task { await desk.work(time, log) }
      let b = Task { await desk.rest(log) }
      let c = Task { log.add("c") }
      _ = await (a.value, b.value, c.value)
    }
    #expect(
      found == [
        "c a1 a2 b", "a1 c a2 b", "a1 a2 c b", "a1 a2 b c",
        "c b a1 a2", "b c a1 a2", "b a1 c a2", "b a1 a2 c",
      ])
  }

  /// While the drain is parked, `b` and `c` enter the queue, in either order. Then both run in that drain.
  @Test func theOrderInTheQueueOfAParkedDrainIsPartOfAClass() async throws {
    func run(_ constraints: String) async throws -> (order: [String], record: RunRecord) {
      var tree = TaskTree()
      let plan = try ScheduleToken("1:\(constraints):0000", &tree).plan
      var options = ScopeOptions()
      options.isExplored = true
      let one = OneRun(options: options, origin: .unknown, findings: Findings(), tree: tree)
      let log = Log<String>()
      let outcome = await one(plan) { time in
        let desk = Desk()
        let a = Task { await desk.work(time, log) }
        let b = Task { await desk.rest(log) }
        let c = Task { await desk.pause(log) }
        _ = await (a.value, b.value, c.value)
      }
      #expect(!outcome.hasFailed, "\(outcome)")
      return (log.all, one.run.record)
    }
    let one = try await run("a.1@<b.1,a.1@<c.1")
    let other = try await run("a.1@<b.1,a.1@<c.1,c.1<b.1")
    #expect(one.order == ["a1", "a2", "b", "c"])
    #expect(other.order == ["a1", "a2", "c", "b"])
    #expect(Set(one.record.steps) == Set(other.record.steps))
    #expect(one.record.classHash != other.record.classHash)
  }

  /// A job of the main thread and one of the pool, both parked.
  @Test func theRestOfAJobKeepsItsTaskLocalValues() async throws {
    let found = try await orders { time, log in
      let mark: @Sendable () -> Void = {
        log.add(Note.text + "1")
        time.checkpoint("mark")
        log.add(Note.text + "2")
      }
      let a = Task { @MainActor in Note.$text.withValue("a") { mark() } }
      let b = Task { Note.$text.withValue("b") { mark() } }
      _ = await (a.value, b.value)
    }
    #expect(
      found == [
        "a1 a2 b1 b2", "a1 b1 a2 b2", "a1 b1 b2 a2", "b1 a1 a2 b2", "b1 a1 b2 a2", "b1 b2 a1 a2",
      ])
  }

  /// Delays the second step of task `a` by 3,000 steps: each of the three constraints delays it by 1,000.
  private static let delayed = "1:b.9000<a.2,b.9001<a.2,b.9002<a.2:0000"

  /// Runs an operation by a token until it ends, or has had 500 steps.
  private func run(_ token: String, _ operation: @escaping OneRun.Operation) async throws
    -> [Finding]
  {
    var tree = TaskTree()
    let plan = try ScheduleToken(token, &tree).plan
    var options = ScopeOptions()
    options.isExplored = true
    let run = OneRun(
      options: options, origin: CallSite(), findings: Findings(), tree: tree, stepLimit: 500)
    return await run(plan, operation).findings
  }

  /// A loop that heeds cancellation ends with its run; the main thread is free again.
  @Test(arguments: [true, false])
  func aLoopOfCheckpointsThatNeverEndsIsReported(isOnMain: Bool) async throws {
    let found = try await run("1::0000") { time in
      if isOnMain {
        await Task { @MainActor in while !Task.isCancelled { time.checkpoint("spin") } }.value
      } else {
        await Task { while !Task.isCancelled { time.checkpoint("spin") } }.value
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("500 steps") == true, "\(found)")
    await MainActor.run {}
  }

  /// In a suite that was written for real time, it matters which thread acts.
  @Test func aThreadActsAgainAfterItsCheckpoint() async throws {
    var tree = TaskTree()
    let plan = try ScheduleToken("1:b.1<a.2:0000", &tree).plan
    var options = ScopeOptions()
    options.isExplored = true
    options.goesOnWithout = { _ in }
    let run = OneRun(options: options, origin: CallSite(), findings: Findings(), tree: tree)
    let threads = Log<[Int32]>()
    let outcome = await run(plan) { time in
      @Sendable func note() {
        let acting = time.scheduler.scope?.actingThread.load(ordering: .relaxed)
        threads.add([acting ?? -1, OutsideWork.currentThread])
      }
      let a = Task {
        note()
        time.checkpoint("a")
        note()
      }
      let b = Task { note() }
      _ = await (a.value, b.value)
    }
    #expect(outcome.findings.isEmpty, "\(outcome.findings)")
    #expect(threads.all.count == 3)
    for pair in threads.all { #expect(pair[0] == pair[1]) }
    #expect(threads.all.first == threads.all.last)
    #expect(threads.all.first != threads.all.dropFirst().first)
  }

  /// The run is left while the main thread is parked: other tests need it.
  @Test func anAbandonedRunFreesTheMainThread() async throws {
    let (hasBegun, isOver) = (Tally(), Tally())
    let found = try await run(Self.delayed) { time in
      let a = Task { @MainActor in
        hasBegun.add()
        time.checkpoint("main")
        isOver.add()
      }
      let b = Task {
        while true { time.checkpoint("ignores cancellation") }
      }
      _ = await (a.value, b.value)
    }
    #expect(found.count == 1, "\(found)")
    await MainActor.run {}
    #expect(hasBegun.value == 1)
    #expect(isOver.value == 1)
  }

  /// When such a task was stopped, its thread waits at its next checkpoint.
  @Test func aLeftoverOfCheckpointsThatIgnoresCancellationIsReportedOnce() async throws {
    let found = try await run("1::0000") { time in
      Task { while true { time.checkpoint("ignores cancellation") } }
    }
    #expect(found.count == 1, "\(found.map(\.text))")
  }

  /// In a run that is abandoned, neither jobs nor the rest of a parked job run.
  @Test func anAbandonedRunKeepsItsOtherThreads() async throws {
    let (hasBegun, isOver) = (Tally(), Tally())
    let found = try await run(Self.delayed) { time in
      let a = Task {
        hasBegun.add()
        time.checkpoint("pool")
        isOver.add()
      }
      let b = Task {
        while true { time.checkpoint("ignores cancellation") }
      }
      _ = await (a.value, b.value)
    }
    #expect(found.count == 1, "\(found)")
    #expect(hasBegun.value == 1)
    #expect(isOver.value == 0)
    // Threads are left for other tests.
    try await withSchedules(50) { time in
      let tasks = (1...3).map { _ in Task { time.checkpoint("again") } }
      for task in tasks { await task.value }
    }
  }

  /// Each task's thread waits at the checkpoint.
  ///
  /// Runs in a process of its own, because the threads stay for seconds. If no thread is left, the process ends with
  /// code 3.
  @Test func moreTasksThanDispatchHasThreads() async {
    await #expect(processExitsWith: .success) {
      Thread.detachNewThread {
        sleep(300)
        exit(3)
      }
      try await withSchedules(20) { time in
        await withTaskGroup { group in
          for _ in 0..<300 { group.addTask { time.checkpoint("here") } }
        }
      }
    }
  }

  /// The task that runs the condition of an invariant is not part of the test: it decides nothing, and is never parked.
  @Test func aConditionDecidesNothing() async throws {
    let seen = Log<Int>()
    let summary = try await withSchedules(200, faults: 3) { time in
      let desk = Desk()
      let log = Log<String>()
      time.always("no decision") {
        time.checkpoint("condition")
        seen.add(time.choose([0, 1]))
        return !time.fault("condition")
      }
      time.always("no decision", on: desk) { _ in
        time.checkpoint("condition of an actor")
        seen.add(time.choose([0, 1]))
        return !time.fault("condition")
      }
      let a = Task { await desk.rest(log) }
      let b = Task { await desk.rest(log) }
      _ = await (a.value, b.value)
    }
    #expect(summary?.isComplete == true)
    #expect(Set(seen.all) == [0])
  }

  /// An immediate task begins within the job that starts it, and makes decisions as that job does.
  @Test func anImmediateTaskDecides() async throws {
    let found = try await orders { time, log in
      let a = Task {
        await Task.immediate {
          log.add("\(time.choose([1, 2]))")
          time.checkpoint("immediate")
          log.add("a")
        }.value
      }
      let b = Task { log.add("b") }
      _ = await (a.value, b.value)
    }
    #expect(found == ["1 a b", "1 b a", "b 1 a", "2 a b", "2 b a", "b 2 a"])
  }

  /// No scheduler resumes the executor's thread, and the job may run beside another one.
  @Test(.timeLimit(.minutes(10))) func onAnExecutorOfTheUserItDoesNothing() async throws {
    let summary = try await withSchedules(20) { time in
      let a = Task { @Bench in
        let others = (0..<20).map { _ in Task.detached { _ = usleep(100) } }
        time.checkpoint("executor")
        return others
      }
      for other in await a.value { await other.value }
    }
    #expect(summary != nil)
  }

  @Test func elsewhereItDoesNothing() async throws {
    let summary = try await withSchedules(20) { time in
      let hasEnded = DispatchSemaphore(value: 0)
      Thread {
        time.checkpoint("thread")
        hasEnded.signal()
      }.start()
      hasEnded.wait()
      // A scope within this one is not explored.
      try await withVirtualTime { inner in
        inner.checkpoint("inner")
        time.checkpoint("outer")
      }
    }
    #expect(summary?.isComplete == true)
    #expect(summary?.orders == 1)
  }
}
