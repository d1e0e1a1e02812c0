import Clocks
import TimeoutTask

/// Workloads whose counterpart is not the heap of the floor.
extension Workloads {
  // MARK: - Timelines

  /// `loopOurs` with a recording of its events, six for each tick.
  public static func loopRecorded(_ count: Int) async -> Double {
    let clock = TestClock()
    clock.recordTimeline()
    Task.detached {
      for tick in 1...count {
        try await clock.sleep(until: .init(offset: .nanoseconds(tick)))
      }
    }
    await clock.settle()
    return await nanoseconds(per: count) { await clock.run(timeout: .seconds(600)) }
  }

  // MARK: - Schedules

  private actor Number {
    private var value = 0
    func get() -> Int { value }
    func set(_ value: Int) { self.value = value }
  }

  /// Eight tasks that read, sleep and write: some fifty steps.
  private static func fiftyJobs() async throws {
    let number = Number()
    let tasks = (0..<8).map { index in
      Task {
        let value = await number.get()
        // In seconds, because delays are rounded.
        try await Task.sleep(for: .seconds(index % 3))
        await number.set(value + 1)
      }
    }
    for task in tasks { try await task.value }
  }

  /// Runs a test of fifty jobs in `count` orders.
  public static func schedules(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      let summary = try? await withSchedules(count) { _ in try await fiftyJobs() }
      precondition(summary?.schedules == count, "The search has failed.")
    }
  }

  /// Runs the same test `count` times in virtual time, in FIFO order.
  public static func scopesOfFiftyJobs(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for _ in 0..<count { try? await withVirtualTime { _ in try await fiftyJobs() } }
    }
  }

  // MARK: - Idle tests

  /// Advances a clock without sleeps, in a task that the scheduler has started.
  ///
  /// A task that is older than the clock runs on a thread of its own until it first suspends. If the clock resumes it
  /// before that, it stays there, and each advance takes several times as long.
  public static func advancePastNothing(_ count: Int) async -> Double {
    let clock = TestClock()
    return await Task {
      await nanoseconds(per: count) {
        for _ in 0..<count { await clock.advance(by: .nanoseconds(1)) }
      }
    }.value
  }

  /// Settles an idle test.
  public static func settleNothing(_ count: Int) async -> Double {
    let clock = TestClock()
    await clock.settle()
    return await nanoseconds(per: count) {
      for _ in 0..<count { await clock.settle() }
    }
  }

  /// Resumes bare continuations on the floor, without a heap and without cancellation.
  public static func bareFloor(_ count: Int) async -> Double {
    let floor = Floor()
    _ = floor.start {
      for _ in 0..<count { await withUnsafeContinuation { floor.keep($0) } }
    }
    floor.settle()
    return await nanoseconds(per: count) { floor.resumeKept() }
  }

  // MARK: - Many clocks

  /// Wakes one sleep repeatedly on each of a thousand clocks, in as many concurrent tests.
  public static func manyClocks(_ count: Int) async -> Double {
    let rounds = max(1, count / 1_000)
    return await nanoseconds(per: rounds * 1_000) {
      await withTaskGroup { group in
        for _ in 0..<1_000 {
          group.addTask {
            let clock = TestClock()
            let ticker = Task {
              for tick in 1... { try await clock.sleep(until: .init(offset: .nanoseconds(tick))) }
            }
            for _ in 0..<rounds { await clock.advanceToNextSleep() }
            ticker.cancel()
          }
        }
      }
    }
  }

  /// Runs concurrent tests, each of which advances its own clock twenty times.
  public static func parallelTests(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      await withTaskGroup { group in
        for _ in 0..<count {
          group.addTask {
            let clock = TestClock()
            let ticker = Task {
              for _ in 0..<20 { try await clock.sleep(for: .seconds(1)) }
            }
            for _ in 0..<20 { await clock.advance(by: .seconds(1)) }
            _ = await ticker.result
          }
        }
      }
    }
  }

  /// `parallelTests` on the floor, one test after the other: its queue of jobs is for one thread.
  public static func parallelTestsFloor(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for _ in 0..<count {
        let floor = Floor()
        floor.runTest {
          let ticker = Task.detached {
            for tick in 1...20 { try await floor.sleep(until: Int64(tick)) }
          }
          for tick in 1...20 { await floor.advance(to: Int64(tick)) }
          _ = await ticker.result
        }
      }
    }
  }

  // MARK: - Actors

  private actor Counter {
    private var count = 0
    func increment() { count += 1 }
  }

  /// Calls an actor repeatedly from a test's task: two hops a call.
  public static func hopInATest(_ count: Int) async -> Double {
    let clock = TestClock()
    let counter = Counter()
    let task = Task.detached {
      await nanoseconds(per: count) {
        for _ in 0..<count { await counter.increment() }
      }
    }
    await clock.settle()
    return await task.value
  }

  /// Calls an actor repeatedly from a task outside any test.
  public static func hopOfNoTest(_ count: Int) async -> Double {
    let counter = Counter()
    return await nanoseconds(per: count) {
      for _ in 0..<count { await counter.increment() }
    }
  }

  /// Runs code on the main actor repeatedly, from a task of a scope: two hops and two changes of the thread.
  public static func mainHopInATest(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      try? await withVirtualTime { _ in
        for _ in 0..<count { await MainActor.run {} }
      }
    }
  }

  /// Runs code on the main actor repeatedly, from a task outside any test.
  public static func mainHopOfNoTest(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for _ in 0..<count { await MainActor.run {} }
    }
  }

  // MARK: - Timers and scopes

  /// Awaits ticks of a timer.
  public static func timerTicks(_ count: Int) async -> Double {
    let clock = TestClock()
    let task = Task.detached {
      var ticks = 0
      for await _ in clock.timer(interval: .seconds(1)) {
        ticks += 1
        if ticks == count { break }
      }
    }
    await clock.settle()
    let time = await nanoseconds(per: count) { await clock.run(timeout: .seconds(600)) }
    await task.value
    return time
  }

  /// Sleeps with `Task.sleep` in a loop, in a scope of virtual time.
  public static func scopeLoop(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      try? await withVirtualTime { _ in
        for _ in 0..<count { try await Task.sleep(for: .seconds(1)) }
      }
    }
  }

  // MARK: - Deadlines

  /// Awaits a timeout task whose work ends immediately.
  public static func timeoutTask(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = try? await TimeoutTask(seconds: 60) { number }.value
      }
    }
  }

  /// Runs work with a timeout that ends immediately.
  public static func timeout(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = try? await withTimeout(.seconds(60), clock: .continuous) { number }
      }
    }
  }

  /// Runs the same work in a bare task.
  public static func bareTask(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count { _ = await Task { number }.value }
    }
  }

  /// Runs the same work as a child of a group, beside a child that sleeps.
  public static func twoChildren(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = try? await withThrowingTaskGroup(of: Int.self) { group in
          group.addTask {
            try await Task.sleep(for: .seconds(60))
            throw CancellationError()
          }
          group.addTask { number }
          defer { group.cancelAll() }
          return try await group.next() ?? 0
        }
      }
    }
  }

  /// Runs the same work as the only child of a group.
  public static func oneChild(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = await withTaskGroup(of: Int.self) { group in
          group.addTask { number }
          return await group.next() ?? 0
        }
      }
    }
  }

  // MARK: - Tasks outside any test

  /// Starts and awaits tasks outside any test, each of which hops to an actor.
  public static func strangers(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      await Task.detached {
        await withTaskGroup { group in
          for _ in 0..<count { group.addTask { await Task.yield() } }
        }
      }.value
    }
  }

  /// Starts and awaits the same tasks in a process that has a test clock.
  public static func strangersBesideAClock(_ count: Int) async -> Double {
    let clock = await Task.detached { TestClock() }.value
    defer { withExtendedLifetime(clock) {} }
    return await strangers(count)
  }

  // MARK: - Bytes, each measured in a process of its own

  /// Returns the bytes of a child task that sleeps on a test clock.
  public static func bytesSleeping(_ count: Int) async -> Double {
    let clock = TestClock()
    let before = residentBytes()
    var bytes = 0.0
    await withTaskGroup { group in
      for number in 0..<count {
        group.addTask { try? await clock.sleep(until: .init(offset: .nanoseconds(number + 1))) }
      }
      await clock.settle()
      bytes = Double(residentBytes() - before) / Double(count)
      await clock.run(timeout: .seconds(600))
    }
    return bytes
  }

  /// Returns the bytes of a child task that is suspended, and that captures as much as the one above.
  public static func bytesSuspended(_ count: Int) async -> Double {
    let floor = Floor()
    let before = residentBytes()
    var bytes = 0.0
    await withTaskGroup { group in
      for number in 0..<count {
        floor.capture {
          group.addTask { await withUnsafeContinuation { floor.keep($0, number) } }
        }
      }
      floor.settle()
      bytes = Double(residentBytes() - before) / Double(count)
      floor.resumeKept()
    }
    return bytes
  }
}
