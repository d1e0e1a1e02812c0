import Clocks
import ClocksTestKit
import TestTraits
import Testing

private actor Box {
  var value = 0
  func get() -> Int { value }
  func set(_ value: Int) { self.value = value }
}

private func suspendsNothing(isolation: isolated (any Actor)? = #isolation) async {}

@MainActor private func addTwo(to log: Log<String>) async {
  log.add("1")
  await suspendsNothing()
  log.add("2")
}

/// An actor with an executor of its own.
@globalActor private actor Desk {
  static let shared = Desk()
  private static let executor = QueueExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}

@Desk private func addTwoAroundATask(to log: Log<String>) async {
  log.add("1")
  let other = Task { @Desk in log.add("other") }
  await suspendsNothing()
  log.add("2")
  await other.value
}

/// Orders that programs rely on, which a search keeps.
@Suite(.schedules(300)) struct LegalOrderTests {
  @Test @MainActor func jobsOfTheMainActorKeepTheirOrder() async {
    var order: [Int] = []
    let tasks = (0..<4).map { number in Task { @MainActor in order.append(number) } }
    for task in tasks { await task.value }
    #expect(order == [0, 1, 2, 3])
  }

  @Test func aHopDoesNotOvertakeATaskOfTheMainActor() async {
    let order = Log<String>()
    let task = Task { @MainActor in order.add("task") }
    await MainActor.run { order.add("hop") }
    await task.value
    #expect(order.all == ["task", "hop"])
  }

  /// A call that could suspend a task on the main actor, and does not, lets no other job run there.
  @Test(arguments: [true, false])
  func noJobComesBetweenWhereATaskIsNotSuspended(_ beginsOnMainActor: Bool) async {
    let order = Log<String>()
    let task =
      beginsOnMainActor
      ? Task { @MainActor in await addTwo(to: order) } : Task { await addTwo(to: order) }
    let other = Task { @MainActor in order.add("other") }
    _ = await (task.value, other.value)
    #expect([["1", "2", "other"], ["other", "1", "2"]].contains(order.all), "\(order.all)")
  }

  /// No other job of the executor may run, so every run has one order.
  @Test func noJobOfACustomExecutorComesBetweenEither() async {
    let order = Log<String>()
    await Task { await addTwoAroundATask(to: order) }.value
    #expect(order.all == ["1", "2", "other"])
  }

  /// The first task writes only after the second one has read, because both begin on the main actor in order.
  @Test func tasksOfTheMainActorTakeTurnsAtEachHop() async {
    let box = Box()
    let tasks = (0..<2).map { _ in Task { @MainActor in await box.set(await box.get() + 1) } }
    for task in tasks { await task.value }
    #expect(await box.get() == 1)
  }

  private actor Journal {
    var lines: [Int] = []
    func writeAll() async -> [Int] {
      let tasks = (0..<4).map { number in Task { lines.append(number) } }
      for task in tasks { await task.value }
      return lines
    }
  }

  @Test func tasksThatBeginOnAnActorKeepTheirOrder() async {
    #expect(await Journal().writeAll() == [0, 1, 2, 3])
  }

  @Test func deadlinesKeepTheirOrder() async throws {
    let box = Box()
    let tasks = (1...4).map { number in
      Task {
        try await Task.sleep(for: .milliseconds(number))
        await box.set(number)
      }
    }
    for task in tasks { try await task.value }
    #expect(await box.get() == 4)
  }

  @Test func aTaskIsNotOvertakenByItself() async {
    let box = Box()
    for number in 0..<5 {
      await box.set(number)
      #expect(await box.get() == number)
    }
  }

  @Test(arguments: 1...3) func eachCaseHasItsArgument(_ number: Int) async {
    let box = Box()
    await Task { await box.set(number) }.value
    #expect(await box.get() == number)
  }

  @Test func confirmationsAndRequirements() async throws {
    try await confirmation(expectedCount: 2) { confirm in
      async let first: Void = { confirm() }()
      async let second: Void = { confirm() }()
      _ = await (first, second)
      _ = try #require(Optional(1))
    }
  }

  @Test func aClockInTheTest() async throws {
    let clock = TestClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
    await clock.advance(by: .seconds(2))
    try await sleeper.value
  }
}

/// The instance of a suite is new in each run.
@Suite(.virtualTime(leftoverSleeps: .fail), .schedules(100)) struct ScheduledSuiteTests {
  private let box = Box()

  @Test func stateIsNew() async {
    #expect(await box.get() == 0)
    await box.set(1)
  }

  @Test func timeIsVirtual() async throws {
    try await Task.sleep(for: .seconds(3_600))
    #expect(VirtualTime.current?.now == .init(offset: .seconds(3_600)))
  }
}

/// A suite and a test in it may have the same trait.
@Suite struct EqualTraitTests {
  private func runs(nesting: Int) async throws -> Int {
    let tally = Tally()
    try await explore(nesting: nesting, tally)
    return tally.value
  }

  private func explore(nesting: Int, _ tally: Tally) async throws {
    guard nesting > 0 else { return tally.add() }
    try await SchedulesTrait.schedules(100).run {
      try await explore(nesting: nesting - 1, tally)
    }
  }

  @Test func aTestIsExploredOnce() async throws {
    let once = try await runs(nesting: 1)
    // The test has one order: it runs twice first in, first out, and once last in, first out.
    #expect(once == 3)
    #expect(try await runs(nesting: 2) == once)
    #expect(try await runs(nesting: 3) == once)
  }
}
