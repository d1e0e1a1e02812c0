import CoreFoundation
import Foundation
import TestTraits
import Testing
import XCTest

/// Whether this process runs the samples, which know nothing of virtual time.
let runsSamples = ProcessInfo.processInfo.environment["EVERYWHERE_SAMPLES"] != nil

/// Blocks the thread. Unlike a sleep, this takes real time in virtual time, too.
func waitInRealTime(_ seconds: Double) {
  var semaphore = sem_t()
  sem_init(&semaphore, 0, 0)
  // No test has this clock.
  var end = timespec()
  clock_gettime(CLOCK_REALTIME_COARSE, &end)
  let nanoseconds = end.tv_nsec + Int(seconds * 1e9)
  end.tv_sec += nanoseconds / 1_000_000_000
  end.tv_nsec = nanoseconds % 1_000_000_000
  sem_timedwait(&semaphore, &end)
}

private actor Entries {
  var all: [Int] = []
  func add(_ entry: Int) { all.append(entry) }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereFlakySamples {
  /// Stands for a test that fails now and then.
  @Test func passesOnlyInTheRepetition() {
    #expect(ProcessInfo.processInfo.environment["CLOCKS_EVERYWHERE"] == "real")
  }
}

@Suite(.enabled(if: runsSamples)) struct EverywhereSamples {
  @Test(arguments: 1...3) func sleeps(_ hours: Int) async throws {
    let start = ContinuousClock.now
    try await Task.sleep(for: .seconds(3600 * hours))
    // A microsecond passes with each reading of a clock: one in `sleep`, and one here.
    #expect(ContinuousClock.now - start == .seconds(3600 * hours) + .microseconds(2))
  }

  @Test(arguments: zip([1, 2], ["a", "b"])) func zipped(_ days: Int, _ text: String) async throws {
    try await Task.sleep(for: .seconds(86_400 * days))
  }

  @Test(arguments: [1, 2], ["a", "b"]) func twoCollections(_ days: Int, _ text: String)
    async throws
  {
    try await Task.sleep(for: .seconds(86_400 * days))
  }

  @Test(arguments: ["a": 1]) func dictionary(_ days: (key: String, value: Int)) async throws {
    try await Task.sleep(for: .seconds(86_400 * days.value))
  }

  @Test(arguments: [(1, "a"), (2, "b")]) func pairs(_ days: Int, _ text: String) async throws {
    try await Task.sleep(for: .seconds(86_400 * days))
  }

  @MainActor @Test func onTheMainActor() async throws { try await Task.sleep(for: .seconds(50)) }

  /// A thread that no scope sees. The sleeps of other tests do not change what time it is here.
  @Test func waitsForRealWork() async {
    let start = ContinuousClock.now
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        waitInRealTime(0.05)
        continuation.resume()
      }
    }
    // A microsecond passes with each reading of a clock.
    #expect(ContinuousClock.now - start == .microseconds(1))
  }

  /// Passes in real time, because some time passes between any two statements.
  @Test func expectsThatTimePasses() async throws {
    let (start, date) = (ContinuousClock.now, Date())
    let (uptime, wallTime) = (DispatchTime.now(), DispatchWallTime.now())
    #expect(DispatchTime.now() > uptime)
    #expect(DispatchWallTime.now() > wallTime)
    #expect(Date() > date)
    try await Task.sleep(until: start + .seconds(60))
    #expect(ContinuousClock.now > start + .seconds(60))
    #expect(Date() > date + 60)
  }

  /// Two sleeps end at nearly the same time. In real time, either may end first.
  @Test func sleepsEndTogether() async throws {
    let ends = AsyncStream.makeStream(of: Int.self)
    async let first: Void = {
      try await Task.sleep(for: .seconds(1))
      ends.continuation.yield(1)
    }()
    try await Task.sleep(for: .milliseconds(1))
    try await Task.sleep(for: .milliseconds(999) + .microseconds(50))
    ends.continuation.yield(2)
    try await first
    ends.continuation.finish()
    #expect(await ends.stream.reduce(into: []) { $0.append($1) } == [1, 2])
  }

  /// Passes first in, first out, and fails in some other orders.
  @Test func dependsOnTheOrder() async {
    let entries = Entries()
    await withTaskGroup { group in
      for entry in 1...3 { group.addTask { await entries.add(entry) } }
    }
    #expect(await entries.all == [1, 2, 3])
  }

  @Test(arguments: 1...2) func namesAFile(_ number: Int) {
    // One call for each line: test cases run in parallel.
    print("file \(number): \(UUID())\n", terminator: "")
  }

  /// Waits for time in a block, as a server does whose loop runs on a queue.
  @Test func leavesABlockOnAQueue() async throws {
    let end = DispatchSemaphore(value: 0)
    DispatchQueue(label: "server").async { end.wait() }
    try await Task.sleep(for: .seconds(3600))
    end.signal()
  }

  /// The limit of the block's wait is virtual, and passes before the task has slept.
  @Test func waitsWithALimitOnAQueue() async throws {
    let end = DispatchSemaphore(value: 0)
    let result = await withTaskGroup { group in
      group.addTask {
        await withCheckedContinuation { continuation in
          DispatchQueue(label: "waiter").async {
            _ = end.wait(timeout: .now() + 1.5)
            continuation.resume(returning: "waited")
          }
        }
      }
      group.addTask {
        try? await Task.sleep(for: .seconds(60))
        return "slept"
      }
      defer { group.cancelAll() }
      return await group.next()
    }
    #expect(result == "waited")
  }

  @Test func fails() { #expect(Bool(false)) }

  @Test func passesOnlyInVirtualTime() {
    #expect(ProcessInfo.processInfo.environment["CLOCKS_EVERYWHERE"] != "real")
  }

  /// The task that it leaves behind is not cancelled.
  @Test func leavesATaskBehind() async throws {
    Task {
      do {
        try await Task.sleep(for: .milliseconds(20))
      } catch {
        print("the task left behind was cancelled")
      }
    }
    try await Task.sleep(for: .milliseconds(10))
  }

  /// Polls by sleeps of no time, in more steps than an order may have.
  @Test func sleepsForNoTime() async throws {
    let poller = Task {
      while !Task.isCancelled { try? await Task.sleep(for: .zero) }
    }
    for _ in 0..<120_000 { await Task.yield() }
    try await Task.sleep(for: .milliseconds(1))
    poller.cancel()
    await poller.value
  }

  private static let misbehaves = ProcessInfo.processInfo.environment["EVERYWHERE_MISBEHAVES"]

  @Test(.enabled(if: misbehaves == "hang")) func hangs() async throws {
    if let file = ProcessInfo.processInfo.environment["EVERYWHERE_ORPHAN"] {
      // The parent of `sleep` ends immediately.
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "sleep 1000 > /dev/null 2>&1 & echo $! > '\(file)'"]
      try process.run()
      process.waitUntilExit()
    }
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  // MARK: - A process that ends while two tests run

  private static let (isOtherRunning, isOver) = (Flag(), Flag())

  /// Returns when the other test runs, or after two seconds: a repetition alone has no other test.
  private static func waitForOther() {
    // A second or two of a clock that no test has. A yield may take a busy machine milliseconds, so they are not counted.
    var now = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &now)
    let end = now.tv_sec + 2
    while !isOtherRunning.isSet, now.tv_sec < end {
      sched_yield()
      clock_gettime(CLOCK_REALTIME_COARSE, &now)
    }
  }

  @Test(.enabled(if: misbehaves == "crash")) func endsItsProcessInSomeOrders() async {
    // A yield would change the test's order.
    Self.waitForOther()
    let entries = Entries()
    await withTaskGroup { group in
      for entry in 1...2 { group.addTask { await entries.add(entry) } }
    }
    if await entries.all != [1, 2] { kill(getpid(), SIGKILL) }
    Self.isOver.set()
  }

  private static let isEnding = Flag()

  @Test(.enabled(if: misbehaves == "end")) func endsItsProcess() {
    Self.isEnding.set()
    Self.waitForOther()
    kill(getpid(), SIGKILL)
  }

  @Test(.enabled(if: ["crash", "end"].contains(misbehaves))) func runsMeanwhile() async {
    Self.isOtherRunning.set()
    for _ in 0..<100_000 where !Self.isOver.isSet { await Task.yield() }
    // The other test is about to end the process.
    while Self.isEnding.isSet { await Task.yield() }
  }

  /// The child process ends during a test, as it should.
  @Test(.enabled(if: misbehaves == "child")) func startsATestProcess() async throws {
    let child = try await ChildProcess.runTests(
      "EverywhereSamples/exits", environment: ["EVERYWHERE_MISBEHAVES": "exit"], mayPassNone: true)
    #expect(child.exitCode == 0 && child.standardOutput.contains("this comes before the end"))
  }

  @Test(.enabled(if: misbehaves == "exit")) func exits() {
    #expect(Bool(false), "this comes before the end")
    exit(0)
  }

  @Test func `it's "order-dependent" – prüft`() async { await dependsOnTheOrder() }

  /// Polls without a sleep, until another task has slept.
  @Test func pollsByYielding() async {
    let flag = Flag()
    Task {
      try await Task.sleep(for: .milliseconds(50))
      flag.set()
    }
    while !flag.isSet { await Task.yield() }
  }
}

final class EverywhereXCTSamples: XCTestCase {
  private var start = Date()

  override func setUp() async throws {
    try XCTSkipUnless(runsSamples)
    try await Task.sleep(for: .seconds(5))
    start = Date()
  }

  private var passed: TimeInterval { Date().timeIntervalSince(start) }

  func testAsync() async throws {
    try await Task.sleep(for: .seconds(86_400))
    XCTAssertEqual(passed, 86_400, accuracy: 0.001)
  }

  /// Polls without a sleep, until another task has slept.
  func testPollsByYielding() async {
    let end = start + 0.05
    while Date() < end { await Task.yield() }
  }

  func testWait() {
    let slept = expectation(description: "slept")
    Task {
      try await Task.sleep(for: .seconds(4))
      slept.fulfill()
    }
    wait(for: [slept], timeout: 5)
    XCTAssertEqual(passed, 4, accuracy: 0.001)
  }

  func testTimeout() {
    let slept = XCTestExpectation(description: "slept")
    Task {
      try await Task.sleep(for: .seconds(6.1))
      slept.fulfill()
    }
    XCTAssertEqual(XCTWaiter.wait(for: [slept], timeout: 6), .timedOut)
    XCTAssertEqual(passed, 6, accuracy: 0.001)
  }

  func testDispatch() {
    let slept = expectation(description: "slept")
    DispatchQueue.main.asyncAfter(deadline: .now() + 3) { slept.fulfill() }
    wait(for: [slept], timeout: 4)
  }

  func testBlocksTheThread() {
    let flag = DispatchSemaphore(value: 0)
    Task {
      try await Task.sleep(for: .seconds(1))
      flag.signal()
    }
    Thread.sleep(forTimeInterval: 2)
    XCTAssertEqual(flag.wait(timeout: .now()), .success)
    XCTAssertEqual(passed, 2, accuracy: 0.001)
  }

  func testRunsTheRunLoop() {
    RunLoop.current.run(until: Date() + 10)
    XCTAssertEqual(passed, 10, accuracy: 0.01)
  }

  func testWaitsForRealWork() {
    let done = expectation(description: "a thread")
    Thread.detachNewThread {
      waitInRealTime(0.02)
      done.fulfill()
    }
    wait(for: [done], timeout: 5)
  }

  /// Longer than a wait with nothing else to do takes.
  func testWaitsForABlockedThread() {
    let done = expectation(description: "a thread")
    Thread.detachNewThread {
      waitInRealTime(0.5)
      done.fulfill()
    }
    wait(for: [done], timeout: 30)
  }

  func testTimer() {
    let done = expectation(description: "a timer of the run loop")
    let timer = Timer.scheduledTimer(withTimeInterval: 0.5, repeats: false) { _ in done.fulfill() }
    wait(for: [done], timeout: 30)
    timer.invalidate()
  }

  func testACallbackOfTheRunLoopSleeps() {
    let done = expectation(description: "a callback has slept")
    RunLoop.main.perform {
      Thread.sleep(forTimeInterval: 5)
      done.fulfill()
    }
    wait(for: [done], timeout: 30)
    XCTAssertEqual(passed, 5, accuracy: 0.001)
  }

  func testRunsTheRunLoopUntilItIsStopped() {
    DispatchQueue.main.asyncAfter(deadline: .now() + 7) { CFRunLoopStop(CFRunLoopGetMain()) }
    CFRunLoopRun()
    XCTAssertEqual(passed, 7, accuracy: 0.001)
  }

  func testFails() { XCTAssertTrue(!runsSamples) }
}

/// Waits for expectations in async tests, which hold a thread. Each test also passes in real time.
final class EverywhereXCTWaitSamples: XCTestCase {
  private let log = Log<String>()
  private var start = Date()

  override func setUp() async throws {
    try XCTSkipUnless(runsSamples)
    let set = XCTestExpectation(description: "set up")
    Task {
      try await Task.sleep(for: .milliseconds(100))
      set.fulfill()
    }
    XCTAssertTrue(Self.hold(for: set, 1))
    start = Date()
  }

  override func tearDown() async throws {
    try XCTSkipUnless(runsSamples)
    let torn = XCTestExpectation(description: "torn down")
    Task {
      try await Task.sleep(for: .milliseconds(100))
      torn.fulfill()
    }
    await Self.onMain { XCTAssertTrue(Self.hold(for: torn, 1)) }
  }

  @MainActor private static func onMain(_ body: @MainActor () -> Void) { body() }

  /// Waits, although async code should not. Returns whether the expectation was fulfilled in time.
  fileprivate static func hold(for expectation: XCTestExpectation, _ timeout: Double = 0.6) -> Bool
  {
    XCTWaiter.wait(for: [expectation], timeout: timeout) == .completed
  }

  /// Starts work that takes four tenths of a second, and fulfills an expectation if there is one.
  private func work(_ expectation: XCTestExpectation?) {
    Task.detached { [log] in
      try await Task.sleep(for: .milliseconds(200))
      log.add("slept")
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) {
        log.add("queue")
        expectation?.fulfill()
      }
    }
  }

  private func mainWork() {
    Task { @MainActor [log] in log.add("main actor") }
    DispatchQueue.main.async { [log] in log.add("main queue") }
  }

  private func check(
    _ tenths: Int, _ lines: [String], unordered: Bool = false, line: UInt = #line
  ) {
    let passed = Date().timeIntervalSince(start)
    // In real time, an outer wait of XCTest notices its fulfillment up to a tenth of a second late.
    XCTAssertEqual(
      passed, Double(tenths) / 10, accuracy: TimedSamples.isReal ? 0.19 : 0.001, line: line)
    XCTAssertEqual(unordered ? log.all.sorted() : log.all, lines, line: line)
  }

  func testWaitForExpectations() async {
    let done = expectation(description: "done")
    work(done)
    nonisolated(unsafe) let test = self
    await test.waitForExpectations(timeout: 0.6)
    check(4, ["slept", "queue"])
  }

  @MainActor func testTheMainActorWaits() async {
    let done = XCTestExpectation(description: "done")
    mainWork()
    work(done)
    XCTAssertTrue(Self.hold(for: done))
    // The job of this test has held the main thread, so no other job for that thread has begun.
    check(4, ["slept", "queue"])
    try? await Task.sleep(for: .milliseconds(100))
    check(5, ["main actor", "main queue", "queue", "slept"], unordered: true)
  }

  @MainActor func testTheMainActorTimesOut() async {
    mainWork()
    work(nil)
    XCTAssertFalse(Self.hold(for: XCTestExpectation(description: "never")))
    check(6, ["slept", "queue"])
  }

  @MainActor func testWaitsForItself() async {
    let done = XCTestExpectation(description: "done")
    Task { done.fulfill() }
    XCTAssertFalse(Self.hold(for: done))
    check(6, [])
  }

  func testAThreadOfThePoolWaits() async {
    let done = XCTestExpectation(description: "done")
    mainWork()
    work(done)
    XCTAssertTrue(Self.hold(for: done))
    check(4, ["main actor", "main queue", "queue", "slept"], unordered: true)
  }

  func testAThreadOfThePoolTimesOut() async {
    work(nil)
    XCTAssertFalse(Self.hold(for: XCTestExpectation(description: "never")))
    check(6, ["slept", "queue"])
  }

  func testAnActorWaits() async {
    actor Waiter {
      func wait(for expectation: XCTestExpectation) -> Bool {
        EverywhereXCTWaitSamples.hold(for: expectation)
      }
    }
    let done = XCTestExpectation(description: "done")
    async let isFulfilled = Waiter().wait(for: done)
    work(done)
    let result = await isFulfilled
    XCTAssertTrue(result)
    check(4, ["slept", "queue"])
  }

  func testTwoTasksWait() async {
    let expectations = (1...2).map { XCTestExpectation(description: "\($0)") }
    await withTaskGroup { group in
      for expectation in expectations {
        work(expectation)
        group.addTask { XCTAssertTrue(Self.hold(for: expectation)) }
      }
    }
    check(4, ["slept", "slept", "queue", "queue"])
  }

  func testFulfillment() async {
    let done = expectation(description: "done")
    work(done)
    await fulfillment(of: [done], timeout: 0.6)
    check(4, ["slept", "queue"])
  }

  func testFulfillmentTimesOut() async {
    let never = XCTestExpectation(description: "never")
    work(nil)
    let result = await XCTWaiter().fulfillment(of: [never], timeout: 0.6)
    XCTAssertEqual(result, .timedOut)
    check(6, ["slept", "queue"])
  }

  func testATaskWaitsWhileTheTestWaits() {
    let (outer, inner) = (
      expectation(description: "outer"), XCTestExpectation(description: "inner")
    )
    work(inner)
    Task { @MainActor [log] in
      log.add("\(Self.hold(for: inner))")
      outer.fulfill()
    }
    wait(for: [outer], timeout: 0.8)
    check(4, ["slept", "queue", "true"])
  }

  func testATaskBlocksItsThread() async {
    let done = expectation(description: "done")
    work(done)
    let sleeper = Task.detached { EverywhereXCTWaitSamples.block(0.3) }
    await sleeper.value
    // The thread of the pool has slept while the other task ran.
    check(3, ["slept"])
    await fulfillment(of: [done], timeout: 0.6)
    check(4, ["slept", "queue"])
  }

  private static func block(_ seconds: Double) { Thread.sleep(forTimeInterval: seconds) }
}
