import ClocksSupport
import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

@Suite struct SleepRegistrationTests {
  @Test func sleepsAppearInTheOrderOfRegistration() async {
    let clock = TestClock()
    var sleeps = clock.sleepRegistrations().makeAsyncIterator()
    let retry = Task(name: "retry") {
      for pause in [1, 2, 4] { try await clock.sleep(for: .seconds(pause), tolerance: .seconds(9)) }
    }
    let first = await sleeps.next()
    #expect(first?.deadline.offset == .seconds(1))
    #expect(first?.taskName == "retry")
    #expect(first?.tolerance == .seconds(9))
    #expect(first?.number == 0)
    #expect(first == clock.pendingSleeps.first)

    await clock.run()
    #expect(await sleeps.next()?.deadline.offset == .seconds(3))
    let third = await sleeps.next()
    #expect(third?.deadline.offset == .seconds(7))
    #expect(third?.registered.offset == .seconds(3))
    await #expect(throws: Never.self) { try await retry.value }
  }

  @Test func waitingForTheNextRegistrationSuspends() async {
    let clock = TestClock()
    var sleeps = clock.sleepRegistrations().makeAsyncIterator()
    let task = Task {
      for _ in 0..<3 { try await clock.sleep(for: .seconds(5)) }
    }
    for number in 1...3 {
      let sleep = await sleeps.next()
      #expect(sleep?.deadline.offset == .seconds(5 * number))
      await clock.advance(by: .seconds(5))
    }
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test func aSleepThatDoesNotWaitDoesNotAppear() async throws {
    let clock = TestClock()
    var sleeps = clock.sleepRegistrations().makeAsyncIterator()
    try await clock.sleep(for: .zero)
    try await clock.sleep(until: .init(offset: .seconds(-1)))
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    #expect(await sleeps.next()?.number == 0)
    await clock.run()
    try await task.value
  }

  @Test func aCancelledSleepAppears() async {
    let clock = TestClock()
    var sleeps = clock.sleepRegistrations().makeAsyncIterator()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    task.cancel()
    await clock.settle()
    #expect(clock.pendingSleeps == [])
    #expect(await sleeps.next()?.deadline.offset == .seconds(1))
  }

  @Test func eachStreamReceivesEachSleepFromItsBeginning() async throws {
    let clock = TestClock()
    var early = clock.sleepRegistrations().makeAsyncIterator()
    let first = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    var late = clock.sleepRegistrations().makeAsyncIterator()
    let second = Task { try await clock.sleep(for: .seconds(2)) }
    #expect(await late.next()?.deadline.offset == .seconds(2))
    #expect(await early.next()?.deadline.offset == .seconds(1))
    #expect(await early.next()?.deadline.offset == .seconds(2))
    await clock.run()
    try await first.value
    try await second.value
  }

  @Test func theStreamEndsWithItsReader() async {
    let clock = TestClock()
    let stream = clock.sleepRegistrations()
    let reader = Task {
      var count = 0
      for await _ in stream { count += 1 }
      return count
    }
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    reader.cancel()
    #expect(await reader.value == 1)
    await clock.run()
    await #expect(throws: Never.self) { try await task.value }
  }

  @Test func theStreamDoesNotKeepTheClock() async {
    weak var weakClock: TestClock<Duration>?
    let stream: AsyncStream<TestClock<Duration>.PendingSleep>
    do {
      let clock = TestClock()
      weakClock = clock
      stream = clock.sleepRegistrations()
    }
    withExtendedLifetime(stream) { #expect(weakClock == nil) }
  }

  @Test func inAScopeSleepsOnTheRuntimesClocksAppear() async throws {
    try await withVirtualTime { time in
      var sleeps = time.clock.sleepRegistrations().makeAsyncIterator()
      let task = Task(name: "poll") {
        try await Task.sleep(for: .seconds(1))
        try await TestClock().sleep(for: .seconds(2))
      }
      let first = await sleeps.next()
      #expect(first?.registered.offset == .zero)
      #expect(first?.deadline.offset == .seconds(1))
      #expect(first?.taskName == "poll")
      #expect(await sleeps.next()?.deadline.offset == .seconds(3))
      try await task.value
    }
  }

  /// Jobs that are queued on a busy pool get a thread before the limit ends the wait.
  ///
  /// In a process of its own, because it occupies all threads of the pool.
  @Test func waitForSleepsWaitsForJobsThatAreReady() async {
    await #expect(processExitsWith: .success) {
      let clock = TestClock()
      let pool = BusyPool()
      pool.keepBusy(for: 1.5)
      let task = pool.sync { Task { try await clock.sleep(for: .seconds(1)) } }
      try await clock.waitForSleeps(atLeast: 1, timeout: .seconds(1), mayRepeat: 1_000)
      #expect(clock.pendingSleeps.count == 1)
      task.cancel()
    }
  }

  /// A job that runs at the end of the limit may register a sleep.
  ///
  /// The job belongs to the test, or to a task whose test is not known, because it has not used the clock yet.
  @Test(.blocksAThread, arguments: [true, false])
  func waitForSleepsWaitsForAJobThatRuns(_ isOfTest: Bool) async throws {
    let clock = TestClock()
    let (hasBegun, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let start = { @Sendable in
      Task {
        wait(hasBegun, mayGoOn)
        try await clock.sleep(for: .seconds(1))
      }
    }
    onAThread {
      hasBegun.wait()
      Thread.sleep(forTimeInterval: 0.3)
      mayGoOn.signal()
    }
    let task = isOfTest ? start() : BusyPool().sync(start)
    try await clock.waitForSleeps(
      atLeast: 1, timeout: .milliseconds(100), mayRepeat: 10_000)
    #expect(clock.pendingSleeps.count == 1)
    task.cancel()
  }

  /// The longest duration has more seconds than an `Int64` can count.
  @Test func waitForSleepsTakesTheLongestTimeout() async throws {
    let clock = TestClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.waitForSleeps(timeout: Duration(attoseconds: .max))
    #expect(clock.pendingSleeps.count == 1)
    task.cancel()
  }

  @Test(.blocksAThread) func waitForSleepsEndsAlthoughAJobDoesNot() async throws {
    let clock = TestClock()
    let mayEnd = DispatchSemaphore(value: 0)
    let hasBegun = DispatchSemaphore(value: 0)
    let task = BusyPool().sync { Task { wait(hasBegun, mayEnd) } }
    await #expect(throws: SleepArrivalError.self) {
      try await clock.waitForSleeps(atLeast: 1, timeout: .milliseconds(50), mayRepeat: 2)
    }
    mayEnd.signal()
    await task.value
  }
}

/// Signals that a job has begun, and blocks its thread until it may continue.
private func wait(_ hasBegun: DispatchSemaphore, _ mayGoOn: DispatchSemaphore) {
  hasBegun.signal()
  mayGoOn.wait()
}

/// Occupies all threads of the pool with tasks that no test owns.
private struct BusyPool {
  /// Many tasks, between which Dispatch may serve its other queues. They loop, because the pool starts another thread
  /// in place of a blocked one.
  func keepBusy(for seconds: Double) {
    sync {
      for _ in 0..<(10 * ProcessInfo.processInfo.activeProcessorCount) {
        Task {
          let end = RealTime(in: .seconds(seconds / 10))
          while !end.hasPassed {}
        }
      }
    }
  }

  /// Runs `body` on a thread outside every test, and blocks until it has run.
  func sync<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
    let result = Mutex<Result?>(nil)
    let hasRun = DispatchSemaphore(value: 0)
    onAThread {
      let value = body()
      result.withLock { $0 = value }
      hasRun.signal()
    }
    hasRun.wait()
    return result.withLock { $0! }
  }
}
