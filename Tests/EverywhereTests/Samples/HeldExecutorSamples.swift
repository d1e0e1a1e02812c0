import Foundation
import TestTraits
import Testing
import XCTest

/// Its thread outlives the test that has started it.
private let loop = LoopExecutor()

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
    let worker = Worker(on: loop)
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

/// Timers of the kernel, and a thread that no test has started and that waits for one, as event loops do.
enum KernelTimer {
  private typealias Create = @convention(c) (CInt, CInt) -> CInt
  private typealias SetTime =
    @convention(c) (CInt, CInt, UnsafePointer<itimerspec>?, UnsafeMutablePointer<itimerspec>?) ->
    CInt
  private typealias CreateSet = @convention(c) (CInt) -> CInt
  private typealias Control = @convention(c) (CInt, CInt, CInt, UnsafeRawPointer) -> CInt
  private typealias Wait = @convention(c) (CInt, UnsafeMutableRawPointer, CInt, CInt) -> CInt

  private static func function<Function>(_ name: String, as type: Function.Type) -> Function {
    unsafeBitCast(dlsym(dlopen(nil, RTLD_NOW), name)!, to: type)
  }

  private final class Work {
    let set: CInt
    let action: () -> Void

    init(_ set: CInt, _ action: @escaping () -> Void) { (self.set, self.action) = (set, action) }
  }

  /// Returns a timer that is not set.
  static func make() -> CInt {
    function("timerfd_create", as: Create.self)(CLOCK_MONOTONIC, 0)
  }

  /// The kernel's timers of this process.
  static var all: Set<CInt> {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return Set(files.compactMap(CInt.init).filter(isTimer))
  }

  static func isTimer(_ file: CInt) -> Bool {
    let path = "/proc/self/fd/\(file)"
    return (try? FileManager.default.destinationOfSymbolicLink(atPath: path))?
      .hasSuffix("[timerfd]") == true
  }

  static func fire(after nanoseconds: Int, _ action: @escaping @Sendable () -> Void) {
    let timer = make()
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    _ = function("timerfd_settime", as: SetTime.self)(timer, 0, &time, nil)
    let set = function("epoll_create1", as: CreateSet.self)(0)
    // `struct epoll_event`: 1 is `EPOLLIN`. Adding a file is operation 1.
    let event: [UInt32] = [1, 0, 0, 0]
    _ = function("epoll_ctl", as: Control.self)(set, 1, timer, event)
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(set, action)).toOpaque()
    pthread_create(
      &thread, nil,
      {
        let work = Unmanaged<Work>.fromOpaque($0!).takeRetainedValue()
        var events = [UInt32](repeating: 0, count: 4)
        // A wait that fails returns immediately. Then the test has to miss the action.
        if KernelTimer.function("epoll_wait", as: Wait.self)(work.set, &events, 1, -1) == 1 {
          work.action()
        }
        return nil
      }, work)
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

  /// The child takes real time, so the timeout does, too.
  func test1ProcessWithAHandler() throws {
    let ended = expectation(description: "the child has ended")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sleep")
    process.arguments = ["0.5"]
    process.terminationHandler = { _ in ended.fulfill() }
    try process.run()
    wait(for: [ended], timeout: 20)
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

  /// The thread acts when its timer fires, in real time, and not before.
  func test3AThreadThatWaitsForATimerOfTheKernel() {
    let done = DispatchSemaphore(value: 0)
    KernelTimer.fire(after: 600_000_000) { done.signal() }
    XCTAssertEqual(done.wait(timeout: .now() + 5), .success)
  }

  func test4SemaphoreOfAThreadThatSleeps() {
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
