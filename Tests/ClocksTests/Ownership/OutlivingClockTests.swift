import Clocks
import Dispatch
import Testing

/// Tasks that a test starts before it first uses the clock: all of them belong to the test.
private func start(_ log: Log<String>, on clock: TestClock<Duration>) -> [Task<Void, Never>] {
  let plain = Task {
    try? await clock.sleep(for: .seconds(1))
    log.add("plain")
  }
  let nested = Task {
    await Task {
      for _ in 0..<10 { await Task.yield() }
      await withTaskGroup { group in
        group.addTask {
          try? await clock.sleep(for: .seconds(2))
          log.add("nested")
        }
      }
    }.value
  }
  let detached = Task.detached {
    await Keeper.shared.visit()
    try? await clock.sleep(for: .seconds(3))
    log.add("detached")
  }
  return [plain, nested, detached]
}

/// An actor that all tests use.
private actor Keeper {
  static let shared = Keeper()
  func visit() async { await Task.yield() }
}

private func isExact(_ clock: TestClock<Duration>) async {
  let log = Log<String>()
  let begin = clock.now
  let tasks = start(log, on: clock)
  for (second, entries) in [(1, 1), (2, 2), (3, 3)] {
    await clock.advance(by: .seconds(1))
    #expect(log.all == Array(["plain", "nested", "detached"].prefix(entries)), "\(second)")
    #expect(clock.pendingSleeps.count == 3 - entries)
  }
  #expect(begin.duration(to: clock.now) == .seconds(3))
  for task in tasks { await task.value }
}

private func clockOfAThread() async -> TestClock<Duration> {
  await withCheckedContinuation { continuation in
    onAThread { continuation.resume(returning: TestClock()) }
  }
}

private struct NamedClock: Sendable {
  let clock: any Clock<Duration>
  let name: String
}

/// Clocks that were made before the test began, outside it, or by a task that is over.
///
/// Some are made outside all tasks while the other clocks are in use. That does not make them part of another test.
@Suite struct OutlivingClockTests {
  private static let clocks = (0..<20).map { NamedClock(clock: TestClock(), name: "test \($0)") }

  @Test(arguments: clocks) fileprivate func anArgument(_ named: NamedClock) async throws {
    await isExact(try #require(named.clock as? TestClock<Duration>))
  }

  private static let waiting = (0..<2).map { NamedClock(clock: TestClock(), name: "\($0)") }

  /// The test library prints the arguments of each test case. A clock among them must not list all tasks.
  @Test(arguments: waiting) fileprivate func anArgumentIsPrintedInALine(
    _ named: NamedClock
  ) async throws {
    let line = "TestClock at 0.0 seconds, no pending sleep"
    let text = String(reflecting: named.clock)
    #expect(text == line)
    let clock = try #require(named.clock as? TestClock<Duration>)
    let task = Task(name: "sleeper") { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    #expect(String(reflecting: clock).contains("task \"sleeper\""))
    #expect(String(reflecting: clock).contains("Where the test's"))
    await clock.advance(by: .seconds(1))
    try await task.value
  }

  @Test(arguments: 0..<20) func madeByAHelpersTask(_: Int) async {
    let fixture = Task { TestClock() }
    await isExact(await fixture.value)
  }

  @Test(arguments: 0..<20) func madeByADetachedTask(_: Int) async {
    let fixture = Task.detached { await Task { TestClock() }.value }
    await isExact(await fixture.value)
  }

  @Test(arguments: 0..<20) func madeByAThread(_: Int) async {
    await isExact(await clockOfAThread())
  }

  /// It belongs to the test, as the first one does.
  @Test(arguments: 0..<20) func madeByTheTestsWorkOnAQueue(_: Int) async {
    let first = TestClock()
    let second = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: TestClock()) }
    }
    await isExact(second)
    let log = Log<String>()
    let task = Task {
      try? await first.sleep(for: .seconds(1))
      try? await second.sleep(for: .seconds(1))
      log.add("both")
    }
    await first.advance(by: .seconds(1))
    await second.advance(by: .seconds(1))
    #expect(log.all == ["both"])
    await task.value
  }

  /// Each task sleeps first on one clock and then on the other.
  @Test(arguments: 0..<20) func twoMadeByThreads(_: Int) async {
    let (one, other) = (await clockOfAThread(), await clockOfAThread())
    let log = Log<Int>()
    // Tasks that are started before the clock's first use begin immediately, in an undefined order.
    await one.settle()
    let tasks = (0..<10).map { number in
      Task {
        try? await one.sleep(for: .seconds(1))
        for _ in 0..<20 { await Task.yield() }
        try? await other.sleep(for: .seconds(1))
        for _ in 0..<20 { await Task.yield() }
        log.add(number)
      }
    }
    await one.settle()
    #expect(one.pendingSleeps.count == 10)
    await one.advance(by: .seconds(1))
    #expect(other.pendingSleeps.count == 10)
    await other.advance(by: .seconds(1))
    #expect(log.all == Array(0..<10))
    for task in tasks { await task.value }
  }

  @Suite(.serialized) struct OfASuite {
    private static let clock = TestClock()

    @Test(arguments: 0..<20) func oneAfterTheOther(_: Int) async { await isExact(Self.clock) }
    @Test(arguments: 0..<20) func andTheNext(_: Int) async { await isExact(Self.clock) }
  }

  /// A task of the test is the first to touch the clock, and not the test itself; two tasks do so together.
  @Suite(.serialized) struct TouchedByATask {
    private static let clock = TestClock()

    @Test(arguments: 0..<40) func first(_: Int) async {
      let log = Log<String>()
      let clock = Self.clock
      let tasks = start(log, on: clock)
      let mover = Task {
        await clock.advance(by: .seconds(3))
        log.add("moved")
      }
      await mover.value
      for task in tasks { await task.value }
      #expect(log.all == ["plain", "nested", "detached", "moved"])
    }
  }
}
