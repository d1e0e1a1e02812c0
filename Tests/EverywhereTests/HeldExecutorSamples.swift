import Foundation
import Testing
import XCTest

private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "executor")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// A thread that outlives the test that has started it.
private final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
  static let shared = ThreadExecutor()
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  init() {
    Thread.detachNewThread { [self] in
      while true {
        condition.lock()
        while jobs.isEmpty { condition.wait() }
        let job = jobs.removeFirst()
        condition.unlock()
        job.runSynchronously(on: asUnownedSerialExecutor())
      }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }
}

private actor Worker {
  private let executor: any SerialExecutor

  init(on executor: any SerialExecutor) { self.executor = executor }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func work() { Thread.sleep(forTimeInterval: 0.3) }
}

private actor Model {
  private(set) var refreshes = 0

  func load() {
    Task { refresh() }
    Thread.sleep(forTimeInterval: 0.3)
  }

  func refresh() { refreshes += 1 }
}

/// Jobs that sleep while they hold an executor. Each test also passes in real time.
final class EverywhereXCTExecutorSamples: TimedSamples, @unchecked Sendable {
  func testAnActorOnAQueueSleeps() async {
    await Worker(on: QueueExecutor()).work()
    check(3)
  }

  private func checkThread() async {
    let worker = Worker(on: ThreadExecutor.shared)
    await worker.work()
    async let other: Void = worker.work()
    await worker.work()
    await other
    check(9)
  }

  func testAnActorOnAThreadSleeps() async { await checkThread() }
  func testAnActorOnAThreadThatIsLeftSleeps() async { await checkThread() }

  func testAnActorSleepsBeforeItsNextJob() async throws {
    let model = Model()
    await model.load()
    check(3)
    try await Task.sleep(for: .milliseconds(100))
    let refreshes = await model.refreshes
    XCTAssertEqual(refreshes, 1)
    check(4)
  }

  func testTwoJobsOfAnActorSleep() async {
    let model = Model()
    async let load: Void = model.load()
    await model.load()
    await load
    check(6)
  }

  private func hold() { Thread.sleep(forTimeInterval: 0.3) }

  @MainActor func testTheMainActorSleepsBeforeItsNextJob() async {
    let next = Task { @MainActor in check(3) }
    hold()
    await next.value
    check(3)
  }
}

/// A thread that waits for events keeps no time from moving. Foundation starts two for child processes.
final class EverywhereXCTProcessSamples: TimedSamples, @unchecked Sendable {
  func test1Process() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/true")
    try process.run()
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0)
  }

  func test2SemaphoreOfATask() {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      try await Task.sleep(for: .milliseconds(300))
      done.signal()
    }
    XCTAssertEqual(done.wait(timeout: .now() + 2), .success)
    check(3)
  }

  func test3GroupOfAThreadThatSleeps() {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 0.3)
      done.signal()
    }
    XCTAssertEqual(done.wait(timeout: .now() + 2), .success)
    check(3)
  }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereMainActorSamples {
  private func sleep() { Thread.sleep(forTimeInterval: 600) }

  /// In a process of Swift Testing, any thread runs the main actor's jobs.
  @Test @MainActor func sleepsBeforeItsNextJob() async {
    let start = Date()
    let next = Task { @MainActor in Date().timeIntervalSince(start) }
    sleep()
    let time = await next.value
    #expect((600..<600.01).contains(time))
  }

  @Test @MainActor func sleepsBeforeABlock() async {
    let start = Date()
    async let time = withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume(returning: Date().timeIntervalSince(start)) }
    }
    sleep()
    #expect(await time < 600.01)
  }

  @Test @MainActor func leavesATaskBehind() {
    Task { @MainActor in }
    sleep()
  }
}
