import Clocks
import Foundation
import Testing
import TimeoutTask

/// After many uses no task, timer, continuation or object is left. See `testCount()`.
@Suite struct LeakTests {
  // MARK: - Objects

  private let cage = Canary.Cage()

  /// Uses the module in one of several ways, with a canary in each place that can hold an object.
  ///
  /// All uses have ended two seconds later.
  private func use(_ number: Int, _ clock: TestClock<Duration>) async {
    let canary = Canary(in: cage)
    func task(
      _ operation: @escaping @Sendable () async throws -> Canary
    ) -> TimeoutTask<Canary> {
      TimeoutTask(timeout: .seconds(1), clock: clock, name: "use") {
        defer { withExtendedLifetime(canary) {} }
        return try await operation()
      } onLateResult: { _ in
        withExtendedLifetime(canary) {}
      }
    }
    @Sendable func sleep() async throws -> Canary {
      try await clock.sleep(for: .seconds(2))
      return Canary(in: cage)
    }

    switch number % 13 {
    case 0: _ = await task { Canary(in: cage) }.result
    case 1: _ = task { Canary(in: cage) }
    case 2: _ = await task { throw Canary(in: cage) }.result
    case 3: _ = task { try await sleep() }
    case 4:
      let task = task { try await sleep() }
      Task { await task.result }
      Task { await task.result }
    case 5: task { try await sleep() }.cancel()
    case 6:
      let task = task { try await sleep() }
      let waiter = Task { await task.result }
      await clock.settle()
      waiter.cancel()
    case 7:
      _ = try? await withTimeout(.seconds(1), clock: clock, name: "use") { Canary(in: cage) }
    case 8:
      Task {
        try await withTimeout(.seconds(1), clock: clock) {
          try await withTimeout(.seconds(3), clock: clock) { try await sleep() }
        }
      }
    case 9:
      Task {
        try await withMovableTimeout(.seconds(9), clock: clock, name: "use") { deadline in
          deadline.expire(after: .seconds(1))
          defer { withExtendedLifetime(canary) {} }
          return try await sleep()
        }
      }
    case 10:
      Task {
        try await withTimeout(.seconds(1), clock: clock) {
          Task.inheritingDeadline { try await sleep() }
        }
      }
    case 11:
      Task {
        let canaries = AsyncThrowingStream { try await sleep() }
        for try await _ in canaries.timeout(.seconds(1), clock: clock) {}
      }
    default:
      let gate = Gate()
      _ = task {
        await gate.pass()
        return Canary(in: cage)
      }
      await clock.advance(by: .seconds(1))
      gate.open()
    }
  }

  @Test func noObjectIsLeftAfterManyUses() async throws {
    let clock = TestClock()
    for number in 0..<testCount() {
      await use(number, clock)
      if number % 100 == 99 { await clock.advance(by: .seconds(2)) }
    }
    await clock.advance(by: .seconds(2))
    try await clock.checkSuspension()
    try await cage.waitUntilEmpty()
  }

  // MARK: - Bytes

  /// As above, on a clock that keeps no memory. Returns when the use has ended.
  private static func use(_ kind: Int) async {
    let clock = HandFiredClock()
    let gate = Gate()
    let ended = Gate()
    func task() -> TimeoutTask<[Int]> {
      TimeoutTask(timeout: .seconds(1), clock: clock, name: "use") {
        await gate.pass()
        return [kind]
      } onLateResult: { _ in
        ended.open()
      }
    }
    switch kind {
    case 0:
      gate.open()
      _ = await task().result
    case 1:
      let task = task()
      clock.fire()
      _ = await task.result
      gate.open()
      await ended.pass()
    case 2:
      let task = task()
      task.cancel()
      gate.open()
      await ended.pass()
    case 3:
      _ = try? await withTimeout(.seconds(1), clock: clock) { [kind] }
    default:
      _ = try? await withTimeout(.seconds(1), clock: clock) {
        clock.fire()
        // The runtime would keep a cancelled sleep on a real clock until its deadline.
        try? await HandFiredClock().sleep(for: .seconds(3600))
      }
    }
  }

  @Test func memoryDoesNotGrow() async {
    await #expect(processExitsWith: .success) {
      let count = max(testCount(), 20_000)
      for kind in 0..<5 {
        // The first uses allocate what stays for the life of the process.
        for _ in 0..<count / 5 { await LeakTests.use(kind) }
        // Memory use varies by up to 2 MB, and the testing library keeps 15 to 20 bytes for each error.
        // A leak of 40 bytes for each use takes 6 MB, because it keeps pages from being freed.
        let most = (3 << 20) + 24 * count
        // On a busy machine, what the latest uses have left is freed later. A leak lets each round take more than that.
        var growth: [Int] = []
        while growth.count < 3 {
          let before = residentBytes()
          for _ in 0..<count { await LeakTests.use(kind) }
          guard let before, let after = residentBytes(), !hasSanitizer else { break }
          guard after - before >= most else { break }
          growth.append(after - before)
        }
        #expect(
          growth.count < 3, "\(growth) bytes more after \(count) uses of kind \(kind) each.")
      }
    }
  }

  // MARK: - A released task

  @Test func aReleasedTaskRunsItsWorkToTheEndAndIsFreed() async throws {
    let clock = TestClock()
    let log = Log<Duration>()
    weak var weakTask: TimeoutTask<Void>?
    do {
      let task = TimeoutTask(timeout: .seconds(2), clock: clock) {
        try await clock.sleep(for: .seconds(1))
        log.add(clock.now.offset)
      }
      weakTask = task
    }
    await clock.settle()
    #expect(weakTask != nil)
    await clock.advance(by: .seconds(1))
    #expect(log.all == [.seconds(1)])
    #expect(weakTask == nil)
    try await clock.checkSuspension()
  }

  @Test func theTimeoutCancelsTheWorkOfAReleasedTask() async throws {
    let clock = TestClock()
    let log = Log<Duration>()
    TimeoutTask(timeout: .seconds(2), clock: clock) {
      try? await clock.sleep(for: .seconds(3))
      log.add(clock.now.offset)
    }
    await clock.advance(by: .seconds(3))
    #expect(log.all == [.seconds(2)])
  }
}

/// Returns the resident memory of the process in bytes, or `nil` where it is unknown.
///
/// Freed memory is returned to the kernel before.
private func residentBytes() -> Int? {
  typealias Trim = @convention(c) (Int) -> CInt
  if let trim = dlsym(dlopen(nil, RTLD_NOW), "malloc_trim") {
    _ = unsafeBitCast(trim, to: Trim.self)(0)
  }
  let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    .split(separator: " ")
  return pages.flatMap { Int($0[1]) }.map { $0 * 4096 }
}
