import Clocks
import TimeoutTask

/// Work for which the floor has no counterpart of its own, or another one than a heap.
extension Workloads {
  // MARK: - Timelines

  /// One task in a loop, as `loopOurs`, in a test whose events are recorded: six events a tick.
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
        // In seconds: no test binary reads the clock for it, and a delay is rounded.
        try await Task.sleep(for: .seconds(index % 3))
        await number.set(value + 1)
      }
    }
    for task in tasks { try await task.value }
  }

  /// Runs a test of fifty jobs in so many orders.
  public static func schedules(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      let summary = try? await withSchedules(count) { _ in try await fiftyJobs() }
      precondition(summary?.schedules == count, "The search has failed.")
    }
  }

  /// Runs the same so often in virtual time, first in, first out.
  public static func scopesOfFiftyJobs(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for _ in 0..<count { try? await withVirtualTime { _ in try await fiftyJobs() } }
    }
  }

  // MARK: - Doing nothing

  /// Advances a clock on which nobody sleeps.
  public static func advancePastNothing(_ count: Int) async -> Double {
    let clock = TestClock()
    await clock.settle()
    return await nanoseconds(per: count) {
      for _ in 0..<count { await clock.advance(by: .nanoseconds(1)) }
    }
  }

  /// Settles a test that has nothing to do.
  public static func settleNothing(_ count: Int) async -> Double {
    let clock = TestClock()
    await clock.settle()
    return await nanoseconds(per: count) {
      for _ in 0..<count { await clock.settle() }
    }
  }

  /// What one bare continuation costs on the floor: no heap, and nobody could cancel it.
  public static func bareFloor(_ count: Int) async -> Double {
    let floor = Floor()
    _ = floor.start {
      for _ in 0..<count { await withUnsafeContinuation { floor.keep($0) } }
    }
    floor.settle()
    return await nanoseconds(per: count) { floor.resumeKept() }
  }

  // MARK: - Many clocks

  /// A thousand clocks in as many tests, side by side; each wakes one sleep again and again.
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

  /// Tests that run side by side, each with a clock of its own, which it advances twenty times.
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

  // MARK: - Actors

  private actor Counter {
    private var count = 0
    func increment() { count += 1 }
  }

  /// A test's task calls an actor again and again: there and back each time.
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

  /// The same in a task that is no test's.
  public static func hopOfNoTest(_ count: Int) async -> Double {
    let counter = Counter()
    return await nanoseconds(per: count) {
      for _ in 0..<count { await counter.increment() }
    }
  }

  // MARK: - Timers and scopes

  /// Ticks of a timer.
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

  /// Sleeps that nobody injected, one task in a loop, in a scope of virtual time.
  public static func scopeLoop(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      try? await withVirtualTime { _ in
        for _ in 0..<count { try await Task.sleep(for: .seconds(1)) }
      }
    }
  }

  // MARK: - Deadlines

  /// A timeout task whose work ends at once.
  public static func timeoutTask(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = try? await TimeoutTask(seconds: 60) { number }.value
      }
    }
  }

  /// A piece of work with a timeout, which ends at once.
  public static func timeout(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count {
        _ = try? await withTimeout(.seconds(60), clock: .continuous) { number }
      }
    }
  }

  /// The same work in a bare task, without any deadline.
  public static func bareTask(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      for number in 0..<count { _ = await Task { number }.value }
    }
  }

  /// The same work as one of two children of a group, of which the other one sleeps.
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

  /// The same work as the only child of a group, without any deadline.
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

  // MARK: - Tasks that are no test's

  /// Starts tasks and awaits them, and has them hop to an actor; none of them is a test's.
  public static func strangers(_ count: Int) async -> Double {
    await nanoseconds(per: count) {
      await Task.detached {
        await withTaskGroup { group in
          for _ in 0..<count { group.addTask { await Task.yield() } }
        }
      }.value
    }
  }

  /// The same in a process that has a test clock.
  public static func strangersBesideAClock(_ count: Int) async -> Double {
    let clock = await Task.detached { TestClock() }.value
    defer { withExtendedLifetime(clock) {} }
    return await strangers(count)
  }

  // MARK: - Bytes, each to be measured in a process of its own

  /// The bytes that a child task takes which sleeps on a test clock.
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

  /// The bytes that a child task takes which is merely suspended.
  public static func bytesSuspended(_ count: Int) async -> Double {
    let floor = Floor()
    let before = residentBytes()
    var bytes = 0.0
    await withTaskGroup { group in
      for _ in 0..<count {
        floor.capture {
          group.addTask { await withUnsafeContinuation { floor.keep($0) } }
        }
      }
      floor.settle()
      bytes = Double(residentBytes() - before) / Double(count)
      floor.resumeKept()
    }
    return bytes
  }
}
