import ClocksTestKit
import TestTraits
import Testing

@testable import Clocks

private actor Account {
  var balance = 10
  func withdraw(_ amount: Int) { balance -= amount }
  func deposit(_ amount: Int) { balance += amount }
  /// A state that no other job can see.
  func withdrawAndDeposit(_ amount: Int) {
    balance -= amount
    balance += amount
  }
}

@MainActor private final class Model {
  var count = 0
}

private final class Shared: Sendable {
  let log = Log<Int>()
  var last: Int { log.all.last ?? 0 }
}

/// `always` and `eventually`, with and without a search.
@Suite struct InvariantTests {
  @Test func anInvariantIsReportedOnceWithTheStep() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        let shared = Shared()
        time.always("at most 3") { shared.last <= 3 }
        let task = Task(name: "writer") {
          for number in 1...6 {
            shared.log.add(number)
            try await Task.sleep(for: .seconds(1))
          }
        }
        try await task.value
      }
    }
    let line = #line - 10
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    #expect(found.first?.line == line)
    // The job of the fourth number began after the third sleep.
    #expect(text.contains("always(\"at most 3\") does not hold at 3 s, after a job of task "))
    #expect(text.contains("\"writer\""))
    #expect(text.contains("line \(line + 4)"), "\(text)")
  }

  @Test func inASearchTheFailureIsAtTheLineOfTheInvariant() async throws {
    func run(
      steps: Int, _ scope: (@escaping (VirtualTime) async throws -> Void) async throws -> Void
    )
      async throws -> String
    {
      let found = try await failures {
        try await scope { time in
          time.recordTimeline()
          let shared = Shared()
          time.always("at most 30") { shared.last <= 30 }
          for number in 1...steps {
            shared.log.add(number)
            try await Task.sleep(for: .seconds(1))
          }
        }
      }
      #expect(found.count == 1)
      #expect(found.first?.line == #line - 8)
      let text = try #require(found.first?.text)
      #expect(text.contains("always(\"at most 30\") does not hold at 30 s, "))
      #expect(text.contains("What happened:"), "\(text)")
      return text
    }
    let text = try await run(steps: 60) { try await withSchedules(.upTo(5), operation: $0) }
    // The job after the sleep of the thirtieth number. Many steps follow.
    let marked = text.split(separator: "\n").filter { $0.contains("◀ fails here") }
    #expect(marked.count == 1, "\(text)")
    #expect(marked.first?.contains("30 s") == true && marked.first?.contains(" 0.31 ") == true)
    _ = try await run(steps: 31) { operation in
      try await withVirtualTime { try await operation($0) }
    }
  }

  @Test func theLastJobIsChecked() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        let account = Account()
        time.always("not negative", on: account) { $0.balance >= 0 }
        await account.withdraw(20)
      }
    }
    #expect(found.map(\.text).filter { $0.contains("\"not negative\") does not hold") }.count == 1)
    let explored = try await failures {
      try await withSchedules(.upTo(5)) { time in
        let account = Account()
        time.always("not negative", on: account) { $0.balance >= 0 }
        await account.withdraw(20)
      }
    }
    #expect(explored.count == 1)
    #expect(
      explored.first?.text.contains("always(\"not negative\") does not hold at 0 s") == true)
  }

  @Test func theLastJobOfTheMainActorIsChecked() async throws {
    @MainActor func count() async throws {
      try await withVirtualTime { time in
        let model = Model()
        time.always("none", on: MainActor.shared) { _ in
          MainActor.assumeIsolated { model.count == 0 }
        }
        await Task.yield()
        model.count = 1
      }
    }
    let found = try await failures { try await count() }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("always(\"none\") does not hold at 0 s") == true)
  }

  @Test func twoInvariantsAreTwoFailures() {
    let findings = Findings()
    for role in ["leader", "writer"] {
      findings.add(scopeReport: "always(\"at most 1 \(role)\") does not hold at 3 s, after step 7")
    }
    #expect(
      findings.take().map(\.key) == [
        "always(\"at most 1 leader\") does not hold at ",
        "always(\"at most 1 writer\") does not hold at ",
      ])
  }

  @Test func aConditionThatHoldsIsNotReported() async throws {
    try await withVirtualTime { time in
      let account = Account()
      let shared = Shared()
      time.always("not negative", on: account) { $0.balance >= 0 }
      time.always("not negative") { shared.last >= 0 }
      time.eventually(within: 100, "three") { shared.last == 3 }
      for number in 1...3 {
        shared.log.add(number)
        await account.withdrawAndDeposit(20)
        try await Task.sleep(for: .seconds(1))
      }
    }
  }

  @Test func theStateOfAnActorIsCheckedBetweenSteps() async throws {
    for isExplored in [false, true] {
      let seen = Log<Int>()
      let operation: (VirtualTime) async throws -> Void = { time in
        let account = Account()
        time.always("not negative", on: account) {
          // The runtime knows that this is the actor's isolation.
          $0.preconditionIsolated()
          seen.add($0.balance)
          return $0.balance >= 0
        }
        let first = Task(name: "first") {
          await account.withdraw(20)
          // In a plain scope both calls would be one step.
          try await Task.sleep(for: .seconds(1))
          await account.deposit(20)
        }
        try await first.value
      }
      let found = try await failures {
        if isExplored {
          try await withSchedules(20, operation: operation)
        } else {
          try await withVirtualTime { try await operation($0) }
        }
      }
      let text = try #require(found.first?.text)
      #expect(found.count == 1)
      #expect(text.hasPrefix("always(\"not negative\") does not hold at 0 s, after "), "\(text)")
      #expect(seen.all.contains(-10))
      if isExplored { #expect(text.contains("of the actor Account, which began in "), "\(text)") }
    }
  }

  @Test func theStateOfTheMainActorIsChecked() async throws {
    let model = Model()
    let found = try await failures {
      try await withVirtualTime { time in
        time.always("at most 1", on: MainActor.shared) { _ in
          MainActor.assumeIsolated { model.count <= 1 }
        }
        for _ in 1...3 {
          await MainActor.run { model.count += 1 }
          try await Task.sleep(for: .seconds(1))
        }
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("does not hold at 1 s, after ") == true)
  }

  @Test func eventuallyFailsAfterSoManySteps() async throws {
    let checks = Log<Bool>()
    func run(within limit: Int) async throws -> [Failure] {
      try await failures {
        try await withVirtualTime { time in
          let shared = Shared()
          let task = Task {
            for number in 1...4 {
              shared.log.add(number)
              try await Task.sleep(for: .seconds(1))
            }
          }
          time.eventually(within: limit, "four") {
            checks.add(true)
            return shared.last == 4
          }
          try await task.value
        }
      }
    }
    #expect(try await run(within: 1_000).isEmpty)
    // The first check is that at the end of the current job, step 0.
    let steps = checks.all.count - 1
    #expect(steps >= 4)
    #expect(try await run(within: steps).isEmpty)
    let found = try await run(within: steps - 1)
    #expect(found.count == 1)
    #expect(
      found.first?.text.contains("(\"four\") has not become true within \(steps - 1) steps: ")
        == true,
      "\(found)")
  }

  @Test func eventuallyFailsAtTheEndOfTheScope() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        time.eventually(within: 1_000, "never") { false }
        try await Task.sleep(for: .seconds(1))
      }
    }
    #expect(found.count == 1)
    #expect(
      found.first?.text.contains("within 1000 steps: the scope ends at 1 s, after ") == true,
      "\(found)")
  }

  /// The failure belongs to the place that states the invariant, so it may be a known issue there.
  @Test(.virtualTime) func aKnownIssueWhereTheInvariantIsStated() async throws {
    let time = try VirtualTime.required
    await withKnownIssue {
      time.always("never") { false }
      try? await Task.sleep(for: .seconds(1))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("always(\"never\") does not hold") }
    }
    await withKnownIssue {
      time.eventually(within: 0, "late") { false }
      try? await Task.sleep(for: .seconds(1))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("eventually(\"late\") has not become true") }
    }
  }

  /// A detached task has none of the test's task-local values.
  @Test func anInvariantOfADetachedTaskBelongsToTheTest() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        await Task.detached { time.always("never") { false } }.value
      }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("always(\"never\") does not hold at 0 s") == true)
  }

  /// An update is lost only in some orders, and no expectation of the test checks for it.
  @Test func aSearchFindsTheOrderInWhichAnInvariantDoesNotHold() async throws {
    let found = try await failures {
      try await withSchedules(200, seed: 1) { time in
        let shared = Shared()
        time.always("in order") { shared.log.all == shared.log.all.sorted() }
        let first = Task { shared.log.add(1) }
        let second = Task { shared.log.add(2) }
        _ = await (first.value, second.value)
      }
    }
    let text = try #require(found.first?.text)
    #expect(found.count == 1)
    #expect(text.hasPrefix("always(\"in order\") does not hold at 0 s, after step a.1 of task "))
    #expect(
      text.contains("1 of 1 decisions matters; undo it and it passes:\n  b.1 before a.1\n"),
      "\(text)")
    #expect(text.contains("(failed in 2 of 2 replays)"))
  }
}
