import ClocksTestKit
import TestTraits
import Testing

@testable import Clocks
@testable import ClocksSearch

/// An actor that only one task uses.
private actor Owner {
  func cancel(_ task: Task<Void, Never>) { task.cancel() }
}

/// What the table of an order that fails shows of the tasks that have no part in its constraints, and of files.
@Suite struct ExplanationTests {
  /// Returns the report on a waiter whose sleep is cancelled, and that continues before its rival.
  private func report(
    besides count: Int, cancel: @escaping @Sendable (Task<Void, Never>) async -> Void
  ) async throws -> String {
    let found = try await failures {
      try await withSchedules(400) { _ in
        let log = Log<String>()
        let waiter = Task(name: "waiter") {
          try? await Task.sleep(for: .seconds(60))
          log.add("waiter")
        }
        let others = (0..<count).map { _ in Task { for _ in 0..<10 { await Task.yield() } } }
        for other in others { await other.value }
        let canceller = Task(name: "canceller") { await cancel(waiter) }
        let rival = Task(name: "rival") { log.add("rival") }
        _ = await (waiter.value, canceller.value, rival.value)
        #expect(log.all == ["rival", "waiter"])
      }
    }
    return try #require(found.first?.text)
  }

  @Test func theTaskThatResumesAShownTaskHasALane() async throws {
    let text = try await report(besides: 6) { $0.cancel() }
    #expect(text.contains("a.2 before i.1"), "\(text)")
    #expect(text.contains("steps are left out"), "\(text)")
    let lanes = try #require(text.firstMatch(of: /\n +(time .*)/)?.1, "\(text)")
    #expect(lanes.contains("h \"canceller\""), "\(text)")
    #expect(text.contains(/\n +0 s +h\.1\n/), "\(text)")
    #expect(text.contains(/a\.2 line .*◀ decision \d+, resumed by h\.1\n/), "\(text)")
  }

  @Test func theStepThatResumesAShownTaskIsShownOnAnActorOfOneTask() async throws {
    let owner = Owner()
    let text = try await report(besides: 0) { await owner.cancel($0) }
    let step = try #require(text.firstMatch(of: /resumed by (b\.\d+@)\n/)?.1, "\(text)")
    #expect(text.contains(try Regex("\n +0 s .*\(step)")), "\(text)")
  }

  /// The sleeps on each clock have the registration numbers 0 and 1.
  @Test func aSleepHasTheNameOfItsTaskThoughSleepsOnAnotherClockHaveTheSameNumbers() async throws {
    let operation: @Sendable (VirtualTime) async throws -> Void = { time in
      let clock = TestClock(now: .init(offset: .seconds(5)))
      let log = Log<String>()
      var tasks: [Task<Void, Never>] = []
      for name in ["first", "second"] {
        tasks.append(
          Task(name: name) {
            try? await Task.sleep(for: .seconds(1))
            log.add(name)
          })
        await time.settle()
      }
      for _ in 0..<2 {
        tasks.append(Task { try? await clock.sleep(for: .seconds(1)) })
        await time.settle()
      }
      for task in tasks.prefix(2) { await task.value }
      #expect(log.all == ["first", "second"])
      await clock.advance(by: .seconds(1))
      for task in tasks { await task.value }
    }
    let found = try await failures { try await withSchedules(400, operation: operation) }
    let failure = try #require(found.first)
    #expect(try token(in: failure.text).hasPrefix("1:b~1<a~1:"), "\(failure)")
    try await expectReplay(of: failure, operation)
  }

  @Test func aDumpNamesTasksAsTheExplanationDoes() async throws {
    let found = try await recordedIssues {
      try await withSchedules(20) { _ in
        let silent = Task(name: "silent") {
          await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
        let waiting = Task { await silent.value }
        await waiting.value
      }
    }
    let text = try #require(found.first?.message)
    #expect(text.contains("- test (0) awaits the value of task b\n"), "\(text)")
    #expect(text.contains("- task b awaits the value of a \"silent\"\n"), "\(text)")
  }

  @Test func ofManyConstraintsAndChoicesTheFirstAreShown() {
    let run = ScheduleRun()
    let tasks = (0..<2_000).map { _ in run.create(by: TaskTree.test) }
    let finding = Finding(kind: .xcTest, key: "", text: "")
    let failure = Exploration.Failure(finding, number: 3, plan: .newestFirst, in: run)
    failure.choices = tasks.prefix(5).map { Choice(ScheduleStep(.fault, of: $0, 1), 1) }
    failure.constraints = tasks.map {
      Constraint(
        first: ScheduleStep(.job, of: TaskTree.test, 2), second: ScheduleStep(.job, of: $0, 1))
    }
    let limits = ScheduleSearch.Limits(count: 10, seed: 1)
    let text = Explanation(failure: failure, limits: limits, replayForm: { "\($0.count)" }).text
    let lines = text.split(separator: "\n")
    #expect(lines.count == 23, "\(text)")
    #expect(lines[0].hasSuffix("2005 of 0 decisions are enough for it:"), "\(text)")
    #expect(lines[1] == "  a!1 a fault" && lines[6] == "  0.2 before a.1", "\(text)")
    #expect(lines[20] == "  0.2 before o.1" && lines[21] == "  … and 1,985 more", "\(text)")
  }

  @Test func filesAreNamedIfThereAreSeveral() async throws {
    let found = try await failures {
      try await withSchedules(100) { _ in
        let lock = TaskLock()
        let log = Log<Int>()
        let first = Task(name: "first") {
          await lock.lock()
          log.add(1)
          await lock.unlock()
        }
        let second = Task(name: "second") {
          await lock.lock()
          log.add(2)
          await lock.unlock()
        }
        _ = await (first.value, second.value)
        #expect(log.all == [1, 2])
      }
    }
    let text = try #require(found.first?.text)
    #expect(text.contains(/lock\(\), BugParts\.swift:\d+ before/), "\(text)")
    // Names in all cells would leave no room for the lines.
    let note = /\n {2}Lines without a file are in (\w+)\.swift\.\n/
    let common = try #require(text.firstMatch(of: note)?.1, "\(text)")
    let other = common == "BugParts" ? "ExplanationTests" : "BugParts"
    #expect(text.contains(try Regex("line \\d+ \(other)\\.swift")), "\(text)")
    #expect(text.contains(/\sline \d+\s/), "\(text)")
    #expect(!text.contains(try Regex("line \\d+ \(common)")), "\(text)")
  }
}
