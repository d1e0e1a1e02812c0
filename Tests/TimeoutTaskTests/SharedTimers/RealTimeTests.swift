import Clocks
import Foundation
import Testing

@testable import TimeoutTask

/// Deadlines on the `ContinuousClock`: with the timers that they share where time is real, and with a
/// task that sleeps where it may be virtual.
@Suite struct RealTimeTests {
  // MARK: - In tests and scopes

  @Test func whereThereMayBeATestClockTimeIsNotCertainToBeReal() async throws {
    _ = TestClock()
    #expect(!RealTime.isCertain)
    let gate = Gate()
    let task = TimeoutTask(seconds: 3600) { await gate.pass() }
    #expect(SharedTimers.shared.count == 0)
    gate.open()
    try await task.value
  }

  @Test func inAScopeDeadlinesOnTheContinuousClockTakeVirtualTime() async throws {
    try await withVirtualTime { time in
      let task = TimeoutTask(seconds: 3600, name: "a") { try await Task.sleep(for: .seconds(9000)) }
      await #expect(throws: TimeoutError(timeout: .seconds(3600), operation: "a")) {
        try await task.value
      }
      #expect(time.now.offset >= .seconds(3600) && time.now.offset < .seconds(3601))
      await #expect(throws: TimeoutError(timeout: .seconds(1000), operation: "b")) {
        try await withTimeout(.seconds(1000), name: "b") {
          try await Task.sleep(for: .seconds(9000))
        }
      }
      #expect(time.now.offset >= .seconds(4600) && time.now.offset < .seconds(4602))
      #expect(
        await withTimeoutOrNil(.seconds(10)) { try? await Task.sleep(for: .seconds(5)) } != nil)
      #expect(SharedTimers.shared.count == 0)
    }
  }

  // MARK: - In production

  /// Takes away the sign that somebody has taken over the sleeps, in a process of its own.
  private static func letTimeBeReal() throws {
    let hook = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobalWithDeadline_hook")
    try #require(hook).storeBytes(of: 0, as: UInt.self)
    try #require(RealTime.isCertain)
  }

  @Test func theWorkIsTimedByTheSharedTimers() async {
    await #expect(processExitsWith: .success) {
      try Self.letTimeBeReal()
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
      // None of these needs a timer.
      let forEver = TimeoutTask(seconds: .infinity) { timers.count }
      #expect(try await forEver.value == 0)
      let never = TimeoutTask(seconds: 0) { timers.count }
      await #expect(throws: TimeoutError(timeout: .zero)) { try await never.value }
      #expect(try await withTimeout(.seconds(1 << 62)) { timers.count } == 0)
      #expect(try await withTimeout(.zero) { Task.isCancelled && timers.count == 0 })
    }
  }

  @Test func timeoutsPassAndAreNotTooEarly() async {
    await #expect(processExitsWith: .success) {
      try Self.letTimeBeReal()
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
            #expect(SharedTimers.shared.count == 1)
            try await withTimeout(.seconds(60)) {
              #expect(SharedTimers.shared.count == 1)
              try await HandFiredClock().sleep(for: .seconds(1))
            }
          }
        }
        #expect(ContinuousClock.now >= deadline)
        let none = try await withTimeoutOrNil(timeout) {
          try await HandFiredClock().sleep(for: .seconds(1))
          return 1
        }
        #expect(none == nil)
      }
      gate.open()
      #expect(SharedTimers.shared.count == 0)
    }
  }

  @Test func aCallerThatIsCancelledFirstHearsOfNoTimeout() async {
    await #expect(processExitsWith: .success) {
      try Self.letTimeBeReal()
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await withTimeout(.milliseconds(1)) {
          await Task.detached { try? await Task.sleep(for: .milliseconds(5)) }.value
          try Task.checkCancellation()
        }
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(SharedTimers.shared.count == 0)
    }
  }

  /// The deadline and the end of the work come at about the same time.
  @Test func whicheverComesFirstHasTheSay() async {
    await #expect(processExitsWith: .success) {
      try Self.letTimeBeReal()
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

  @Test func instantsBecomeNumbersThatAreNotTooEarly() {
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
