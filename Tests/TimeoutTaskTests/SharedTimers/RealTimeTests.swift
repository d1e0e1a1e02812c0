import Clocks
import Foundation
import TestTraits
import Testing

@testable import TimeoutTask

/// Deadlines on the `ContinuousClock`: with the shared timers in real time, and with a task that
/// sleeps where time may be virtual.
@Suite struct RealTimeTests {
  // MARK: - In tests and scopes

  // Each runs in a process of its own: tests that began before this process had a clock may use the shared timers.

  @Test func withATestClockTimeMayBeVirtual() async {
    await #expect(processExitsWith: .success) {
      _ = TestClock()
      #expect(!RealTime.isCertain)
      let gate = Gate()
      let task = TimeoutTask(seconds: 3600) { await gate.pass() }
      #expect(SharedTimers.shared.count == 0)
      gate.open()
      try await task.value
    }
  }

  @Test func withVirtualTimeDeadlinesOnTheContinuousClockAreVirtual() async {
    await #expect(processExitsWith: .success) {
      try await withVirtualTime { time in
        let task = TimeoutTask(seconds: 3600, name: "a") {
          try await Task.sleep(for: .seconds(9000))
        }
        await #expect(throws: TimeoutError(timeout: .seconds(3600), operation: "a")) {
          try await task.value
        }
        #expect(time.now.offset == .seconds(3600))
        await #expect(throws: TimeoutError(timeout: .seconds(1000), operation: "b")) {
          try await withTimeout(.seconds(1000), name: "b") {
            try await Task.sleep(for: .seconds(9000))
          }
        }
        #expect(time.now.offset == .seconds(4600))
        #expect(
          await withTimeoutOrNil(.seconds(10)) { try? await Task.sleep(for: .seconds(5)) } != nil)
        #expect(SharedTimers.shared.count == 0)
      }
    }
  }

  // MARK: - In production

  /// Resets the runtime's hook for sleeps. Call it only in a process of an exit test.
  static func makeTimeReal() throws {
    let hook = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobalWithDeadline_hook")
    try #require(hook).storeBytes(of: 0, as: UInt.self)
    try #require(RealTime.isCertain)
  }

  @Test(.unless(.executorsCannotDelay)) func inRealTimeTheWorkUsesTheSharedTimers() async {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      let timers = SharedTimers.shared
      let gates = (0..<1000).map { _ in Gate() }
      let tasks = gates.map { gate in
        TimeoutTask(seconds: 3600) {
          await gate.pass()
          return Deadline.remaining()
        }
      }
      #expect(timers.count == 1000)
      for task in tasks[..<500] { task.cancel() }
      #expect(timers.count == 500)
      for gate in gates { gate.open() }
      for task in tasks[..<500] {
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      for task in tasks[500...] {
        let remaining = try #require(try await task.value)
        #expect(remaining > .seconds(3000) && remaining <= .seconds(3600))
      }
      #expect(timers.count == 0)
      // These need no timer.
      let forEver = TimeoutTask(seconds: .infinity) { timers.count }
      #expect(try await forEver.value == 0)
      let never = TimeoutTask(seconds: 0) { timers.count }
      await #expect(throws: TimeoutError(timeout: .zero)) { try await never.value }
      #expect(try await withTimeout(.seconds(1 << 62)) { timers.count } == 0)
      #expect(try await withTimeout(.zero) { Task.isCancelled && timers.count == 0 })
    }
  }

  @Test(.unless(.executorsCannotDelay)) func timeoutsPassAndAreNeverEarly() async {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      let gate = Gate()
      for milliseconds in [1, 5, 2, 20, 3] {
        let timeout = Duration.milliseconds(milliseconds)
        let start = ContinuousClock.now
        let task = TimeoutTask(timeout: timeout, tolerance: .microseconds(milliseconds), name: "a")
        {
          await gate.pass()
        }
        await #expect(throws: TimeoutError(timeout: timeout, operation: "a")) {
          try await task.value
        }
        #expect(ContinuousClock.now >= start + timeout)
        let deadline = ContinuousClock.now + timeout
        await #expect(throws: TimeoutError.self) {
          try await withDeadline(deadline) {
            #expect(Deadline.current() == deadline)
            try await Task.sleep(for: .seconds(3600))
          }
        }
        #expect(ContinuousClock.now >= deadline)
        let none = try await withTimeoutOrNil(timeout) {
          try await Task.sleep(for: .seconds(3600))
          return 1
        }
        #expect(none == nil)
      }
      gate.open()
      #expect(SharedTimers.shared.count == 0)
    }
  }

  @Test(.unless(.executorsCannotDelay)) func nestedDeadlinesAreSetIfTheyAreNeeded() async {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      let timers = SharedTimers.shared
      let deadline = ContinuousClock.now + .seconds(3600)
      try await withDeadline(deadline, tolerance: .seconds(1)) {
        #expect(timers.count == 1)
        #expect(Deadline.current() == deadline)
        try await withTimeout(.seconds(7200)) {
          #expect(timers.count == 1)
          #expect(Deadline.current() == deadline)
        }
        try await withDeadline(deadline) { #expect(timers.count == 2) }
        try await withTimeout(.seconds(1800)) {
          #expect(timers.count == 2)
          let remaining = try #require(Deadline.remaining())
          #expect(remaining > .seconds(1200) && remaining <= .seconds(1800))
          let task = Task.inheritingDeadline {
            #expect(timers.count == 4)
            return Deadline.current()
          }
          #expect(try await task.value == Deadline.current())
        }
      }
      #expect(timers.count == 0)
    }
  }

  @Test(.unless(.executorsCannotDelay)) func theErrorOfLateWorkIsInsideTheTimeoutError() async {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      let timeout = Duration.milliseconds(5)
      let error = await #expect(throws: TimeoutError(timeout: timeout, operation: "a")) {
        try await withTimeout(timeout, name: "a") {
          do { try await Task.sleep(for: .seconds(3600)) } catch { throw Failure() }
        }
      }
      #expect(error?.underlyingError as? Failure == Failure())
      let task = TimeoutTask(timeout: timeout, name: "a") {
        do { try await Task.sleep(for: .seconds(3600)) } catch { throw Failure() }
      }
      await #expect(throws: TimeoutError(timeout: timeout, operation: "a")) { try await task.value }
    }
  }

  @Test(.unless(.executorsCannotDelay)) func theLastReaderEndsTheWorkUnlessItIsShared() async {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      for isShared in [true, false] {
        let gate = Gate()
        let task = TimeoutTask(seconds: 3600, endsWithLastWaiter: !isShared) {
          await gate.pass()
          return 42
        }
        let reader = Task { try await task.value }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        gate.open()
        if isShared {
          #expect(try await task.value == 42)
        } else {
          await #expect(throws: CancellationError.self) { try await task.value }
        }
      }
    }
  }

  /// Runs jobs one at a time, when the test allows it.
  private final class HeldExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "held")
    private let permits = DispatchSemaphore(value: 0)
    private let ran = AsyncStream<Void>.makeStream()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async {
        self.permits.wait()
        job.runSynchronously(on: self.asUnownedSerialExecutor())
        self.ran.continuation.yield()
      }
    }

    /// Runs the next job, and returns when it has ended.
    func runOne() async {
      permits.signal()
      for await _ in ran.stream { return }
    }

    /// Runs all jobs, also later ones.
    func runAll() {
      for _ in 0..<100 { permits.signal() }
    }
  }

  private actor Held {
    let executor = HeldExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Returns whether the operation was cancelled.
    func run(under deadline: RealTimeDeadline) async throws -> Bool {
      try await deadline.run { Task.isCancelled }
    }
  }

  @Test(arguments: [false, true])
  func aCallerThatWasCancelledBeforeTheDeadlineGetsNoTimeout(_ isCancelled: Bool) async throws {
    let held = Held()
    let allowed = Duration.seconds(3600).attoseconds
    let limit = RealTimeLimit(
      deadline: RealTime.reading(of: .now) + allowed, allowed: allowed, tolerance: nil)
    let deadline = RealTimeDeadline(limit, name: nil, inside: nil)
    let task = Task {
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      return try await held.run(under: deadline)
    }
    // The caller waits for the operation. The deadline passes before the operation begins.
    await held.executor.runOne()
    deadline.ring()
    // Runs the operation, and then the rest of the caller.
    held.executor.runAll()
    #expect(try await task.value)
    #expect((deadline.interruption == nil) == isCancelled)
  }

  /// The deadline passes at about the time at which the work ends.
  @Test(.unless(.executorsCannotDelay)) func workThatEndsAtItsDeadlineGivesAResultOrATimeout() async
  {
    await #expect(processExitsWith: .success) {
      try Self.makeTimeReal()
      for _ in 0..<100 {
        let tasks = (0..<50).map { number in
          TimeoutTask(timeout: .microseconds(500)) {
            try await Task.sleep(for: .microseconds(500))
            return number
          }
        }
        for (number, task) in tasks.enumerated() {
          switch await task.result {
          case .success(let value): #expect(value == number)
          case .failure(let error): #expect(error is TimeoutError)
          }
        }
        await withTaskGroup { group in
          for number in 0..<50 {
            group.addTask {
              do {
                let value = try await withTimeout(.microseconds(500)) {
                  try await Task.sleep(for: .microseconds(500))
                  return number
                }
                #expect(value == number)
              } catch {
                #expect(error is TimeoutError)
              }
            }
          }
        }
      }
      #expect(SharedTimers.shared.count == 0)
    }
  }

  @Test func unitsAreRoundedUp() {
    #expect(RealTime.units(0) == 0)
    #expect(RealTime.units(1) == 1)
    #expect(RealTime.units(1 << 30) == 1)
    #expect(RealTime.units(1 << 30 + 1) == 2)
    #expect(RealTime.units(Duration.forEver.attoseconds) == Int64.max / 2)
    #expect(RealTime.units(-Duration.forEver.attoseconds) == -(Int64.max / 2))
    let instant = ContinuousClock.now + .nanoseconds(1) / 3
    #expect(RealTime.instant(RealTime.reading(of: instant)) == instant)
  }
}
