import Clocks
import ClocksTestKit
import Synchronization
import TestTraits
import Testing

private actor Lease {
  var holder = ""
  func take(_ name: String) { holder = name }
  func isHeld(by name: String) -> Bool { holder == name }
}

private actor Ledger {
  var writers: [String] = []
  func write(_ name: String) { writers.append(name) }
}

private final class Number: Sendable {
  let value = Mutex(0)
}

/// A lock that can be taken once, by trying.
private final class Flag: Sendable {
  private let isTaken = Mutex(false)

  func take(_ time: VirtualTime) -> Bool {
    time.checkpoint("take")
    return isTaken.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
  }
}

/// Stalls, explored random numbers and checkpoints.
@Suite struct StallTests {
  /// A lease expires while its holder is between the check and the write: only if the jobs take time.
  private static let pause: @Sendable (VirtualTime) async throws -> Void = { time in
    let (lease, ledger) = (Lease(), Ledger())
    await lease.take("first")
    let other = Task(name: "second") {
      try await Task.sleep(for: .seconds(1))
      await lease.take("second")
      await ledger.write("second")
    }
    let first = Task(name: "first") {
      if await lease.isHeld(by: "first") { await ledger.write("first") }
    }
    await first.value
    try await other.value
    #expect(await ledger.writers == ["first", "second"])
  }

  @Test func aLeaseExpiresInAPause() async throws {
    let withoutStalls = try await withSchedules(500, operation: Self.pause)
    #expect(withoutStalls != nil)
    for (number, limit) in [(500, Duration.milliseconds(999)), (500, .seconds(1))] {
      let found = try await failures {
        try await withSchedules(number, stalls: 1, upTo: limit, operation: Self.pause)
      }
      #expect(found.count == (limit < .seconds(1) ? 0 : 1), "\(limit)")
      guard let failure = found.first else { continue }
      let text = failure.text
      #expect(text.contains("~1 may wake early, while a job is under way (a stall)"), "\(text)")
      #expect(text.contains("(failed in 2 of 2 replays)"), "\(text)")
      let token = try token(in: text)
      #expect(token.hasPrefix("2:a~1^,"))
      // A token needs no parameters.
      try await expectReplay(of: failure, Self.pause)
    }
  }

  /// A lease that ends at an instant, and no task sleeps. Its holder writes after it has checked the lease.
  private static func comparison(
    _ write: @escaping @Sendable (VirtualTime) async -> Void
  ) -> @Sendable (VirtualTime) async throws -> Void {
    { time in
      let end = ContinuousClock.now + .seconds(1)
      await Task(name: "holder") {
        guard ContinuousClock.now < end else { return }
        await write(time)
        #expect(ContinuousClock.now < end)
      }.value
    }
  }

  @Test(arguments: [
    comparison { _ in await Ledger().write("holder") },
    comparison { $0.checkpoint("write") },
  ])
  func aLeaseThatOnlyComparesInstantsExpiresInAPause(
    _ operation: @Sendable @escaping (VirtualTime) async throws -> Void
  ) async throws {
    for limit in [Duration.nanoseconds(999_999_999), .seconds(1), .seconds(3600)] {
      let found = try await failures {
        try await withSchedules(100, stalls: 1, upTo: limit, operation: operation)
      }
      #expect(found.count == (limit < .seconds(1) ? 0 : 1), "\(limit)")
      guard let failure = found.first else { continue }
      let text = failure.text
      // Whatever the limit, the failure states the shortest stall with which the test fails.
      #expect(text.contains(/a\.\d[@+]? begins 1\.0 seconds late \(a stall\)/), "\(text)")
      #expect(text.contains("(failed in 2 of 2 replays)"), "\(text)")
      let token = try token(in: text)
      #expect(token.contains(/^2:a\.\d[@+]?\^1s:/), "\(token)")
      try await expectReplay(of: failure, operation)
    }
  }

  @Test func sleepsThatAreDueAfterAStallWakeInAnyOrder() async throws {
    let orders = Log<String>()
    let summary = try await withSchedules(2_000, stalls: 1, upTo: .seconds(1)) { time in
      let order = Log<String>()
      let start = ContinuousClock.now
      let sleeper = { (name: String, milliseconds: Int) in
        Task(name: name) {
          try await Task.sleep(for: .milliseconds(milliseconds))
          order.add("\(name) at \((ContinuousClock.now - start) / .milliseconds(1))")
        }
      }
      let tasks = [sleeper("a", 200), sleeper("b", 600)]
      for task in tasks { try await task.value }
      orders.add(order.all.joined(separator: ", "))
    }
    #expect(summary?.isComplete == true)
    #expect(
      Set(orders.all) == [
        "a at 200.0, b at 600.0",
        // Time has passed until the next deadline.
        "a at 600.0, b at 600.0", "b at 600.0, a at 600.0", "b at 600.0, a at 800.0",
        "a at 200.0, b at 800.0",
        // Time has passed for a second.
        "a at 1200.0, b at 1200.0", "b at 1200.0, a at 1200.0", "b at 1000.0, a at 1200.0",
        "a at 200.0, b at 1200.0", "a at 1000.0, b at 1600.0", "a at 1200.0, b at 1600.0",
        "a at 200.0, b at 1600.0",
      ])
  }

  /// A replay does not know that the search could have stalled.
  @Test func aTokenWithoutStallsStandsForTheSameOrder() async throws {
    func writers() async -> [String] {
      let ledger = Ledger()
      let tasks = ["a", "b"].map { name in Task { await ledger.write(name) } }
      for task in tasks { await task.value }
      return await ledger.writers
    }
    let found = try await failures {
      try await withSchedules(100, stalls: 1, upTo: .seconds(1)) { _ in
        let writers = await writers()
        #expect(writers == ["a", "b"])
      }
    }
    let text = try #require(found.first?.text)
    let token = try token(in: text)
    #expect(token.hasPrefix("1:"))
    // The test is mended. If the token stood for another order, that would be an issue.
    try await withSchedules(.schedule(token)) { _ in
      let writers = await writers()
      #expect(writers == ["b", "a"])
    }
  }

  @Test func aTimeoutWinsAgainstWorkOnlyInAStall() async throws {
    let wins = Log<String>()
    func operation(_ time: VirtualTime) async throws {
      let ledger = Ledger()
      let timeout = Task {
        try await Task.sleep(for: .milliseconds(100))
        await ledger.write("timeout")
      }
      let work = Task {
        for _ in 1...3 { await ledger.write("work") }
      }
      await work.value
      wins.add(await ledger.writers.joined(separator: " "))
      try await timeout.value
    }
    try await withSchedules(200) { try await operation($0) }
    #expect(Set(wins.all) == ["work work work"])
    let summary = try await withSchedules(20_000, stalls: 1, upTo: .seconds(1)) {
      try await operation($0)
    }
    #expect(summary?.isComplete == true)
    #expect(wins.all.contains("timeout work work work"))
    #expect(wins.all.contains("work timeout work work"))
    #expect(wins.all.contains("work work timeout work"))
  }

  @Test func randomNumbersAreTheSameUnlessTheyAreExplored() async throws {
    let numbers = Log<Int>()
    let bools = Log<Bool>()
    let operation: @Sendable (VirtualTime) async throws -> Void = { _ in
      let number = Int.random(in: 0..<16)
      numbers.add(number)
      bools.add(Bool.random())
      #expect(number != 11)
    }
    let plain = try await failures { try await withSchedules(100, operation: operation) }
    #expect(plain.isEmpty && Set(numbers.all).count == 1)
    let found = try await failures {
      try await withSchedules(1_000, explores: .randomness, operation: operation)
    }
    let failure = try #require(found.first)
    let text = failure.text
    #expect(found.count == 1)
    #expect(Set(bools.all).count == 2)
    #expect(text.contains("0.1 draws value 12 of 64 as its random number 1"), "\(text)")
    let token = try token(in: text)
    #expect(token.hasPrefix("2:0%1=12:"))
    try await expectReplay(of: failure, operation)
  }

  @Test func aSearchDoesNotClaimAllRandomNumbers() async throws {
    let seen = Log<Int>()
    let summary = try await withSchedules(200, explores: .randomness) { _ in
      seen.add(Int.random(in: 1...6))
    }
    #expect(Set(seen.all) == [1, 2, 3, 4, 5, 6])
    #expect(summary?.isComplete == false)
  }

  /// A counter that is read and written without a lock; jobs have no `await` in between.
  private static let race: @Sendable (VirtualTime) async throws -> Void = { time in
    let count = Number()
    let tasks = (1...2).map { number in
      Task(name: "task \(number)") {
        let read = count.value.withLock { $0 }
        time.checkpoint("between")
        count.value.withLock { $0 = read + 1 }
      }
    }
    for task in tasks { await task.value }
    #expect(count.value.withLock { $0 } == 2)
  }

  @Test func aCheckpointIsADecisionWithinAStep() async throws {
    // Outside a search nothing comes in between.
    try await withVirtualTime { try await Self.race($0) }
    let found = try await failures { try await withSchedules(200, operation: Self.race) }
    let text = try #require(found.first?.text)
    #expect(found.count == 1)
    #expect(text.contains("checkpoint \"between\""), "\(text)")
    #expect(text.contains("(failed in 2 of 2 replays)"), "\(text)")
  }

  /// Two tasks try to take two locks in opposite orders. In some schedules each gets one, and fails to get the other.
  @Test func twoLocksByCheckpointsInterleaveFreely() async throws {
    let ends = Log<String>()
    let summary = try await withSchedules(500) { time in
      let (first, second) = (Flag(), Flag())
      let order = Log<String>()
      let a = Task {
        order.add("a\(first.take(time))")
        order.add("a\(second.take(time))")
      }
      let b = Task {
        order.add("b\(second.take(time))")
        order.add("b\(first.take(time))")
      }
      _ = await (a.value, b.value)
      ends.add(order.all.joined(separator: " "))
    }
    #expect(summary?.isComplete == true)
    #expect(
      Set(ends.all) == [
        "atrue atrue bfalse bfalse", "atrue btrue afalse bfalse", "atrue btrue bfalse afalse",
        "btrue atrue afalse bfalse", "btrue atrue bfalse afalse", "btrue btrue afalse afalse",
      ])
  }
}
