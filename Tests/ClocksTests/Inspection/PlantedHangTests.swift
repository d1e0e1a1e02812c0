import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Hangs that are planted in scopes: each report names the function in which the task waits.
///
/// The body reacts to its cancellation; the tasks that hang stay suspended.
@Suite struct PlantedHangTests {
  /// Runs `plant`, which starts tasks that hang, in a scope, and returns the report.
  private static func report(
    _ plant: nonisolated(nonsending) (VirtualTime) async -> Void
  ) async throws -> String {
    let issues = try await recordedIssues {
      try? await withVirtualTime(autoAdvance: false, stuckAfter: .milliseconds(30)) { time in
        await plant(time)
        await untilCancelled()
      }
    }
    // An issue that was recorded outside any test reaches every test that listens.
    let own = issues.filter { $0.fileID.hasSuffix("PlantedHangTests.swift") }
    #expect(own.count == 1, "\(issues)")
    return own.first?.message ?? ""
  }

  private static func untilCancelled() async {
    let (stream, end) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    end.finish()
  }

  /// A line of a call stack: a function, and the line of this file that ends with `// here: ` and a word.
  private static func line(_ function: String, _ word: String) throws -> String {
    let lines = try String(contentsOfFile: #filePath, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let line = try #require(lines.firstIndex { $0.hasSuffix("// here: " + word) }) + 1
    return "    \(function) at PlantedHangTests.swift:\(line)\n"
  }

  // MARK: - Two tasks await each other

  private final class Pair: Sendable {
    nonisolated(unsafe) var first: Task<Void, Never>?
    nonisolated(unsafe) var second: Task<Void, Never>?

    func awaitFirst() async { await first?.value }  // here: awaitFirst
    func awaitSecond() async { await second?.value }  // here: awaitSecond
  }

  @Test func twoTasksThatAwaitEachOther() async throws {
    let report = try await Self.report { _ in
      let pair = Pair()
      pair.first = Task(name: "first") { await pair.awaitSecond() }
      pair.second = Task(name: "second") { await pair.awaitFirst() }
    }
    #expect(report.contains("withVirtualTime is stuck at 0.0 seconds"))
    #expect(
      report.contains(/task #\d+ "first" awaits the value of task #\d+ "second"\n/), "\(report)")
    #expect(
      report.contains(try Self.line("PlantedHangTests.Pair.awaitSecond()", "awaitSecond")))
    #expect(report.contains(/task #\d+ "second" awaits the value of task #\d+ "first"\n/))
    #expect(
      report.contains(try Self.line("PlantedHangTests.Pair.awaitFirst()", "awaitFirst")))
    let circle =
      /A circle: task #(\d+) "first" waits for task #\d+ "second" waits for task #(\d+) "first"\. None/
    #expect(report.contains(circle))
  }

  // MARK: - A continuation is never resumed

  private struct Gate {
    private typealias Waiter = UnsafeContinuation<Void, Never>

    func wait() async {
      await withUnsafeContinuation { (_: Waiter) in }  // here: wait
    }
  }

  @Test func aContinuationThatIsNeverResumed() async throws {
    let report = try await Self.report { _ in Task(name: "guest") { await Gate().wait() } }
    #expect(report.contains(/task #\d+ "guest" awaits a continuation\n/), "\(report)")
    #expect(report.contains(try Self.line("PlantedHangTests.Gate.wait()", "wait")), "\(report)")
  }

  // MARK: - Two locks are taken in two orders

  private actor AsyncLock {
    private var isTaken = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func lock() async {
      while isTaken { await withCheckedContinuation { waiters.append($0) } }  // here: lock
      isTaken = true
    }
  }

  private struct Bank {
    let left = AsyncLock()
    let right = AsyncLock()

    func deposit() async {
      await left.lock()
      await Task.yield()
      await right.lock()  // here: deposit
    }

    func withdraw() async {
      await right.lock()
      await Task.yield()
      await left.lock()  // here: withdraw
    }
  }

  @Test func twoLocksInTwoOrders() async throws {
    let report = try await Self.report { _ in
      let bank = Bank()
      Task(name: "deposit") { await bank.deposit() }
      Task(name: "withdraw") { await bank.withdraw() }
    }
    for name in ["deposit", "withdraw"] {
      let state = try Regex(
        "task #\\d+ \"\(name)\" awaits a continuation\n")
      #expect(report.contains(state), "\(report)")
    }
    #expect(
      report.contains(
        try Self.line("PlantedHangTests.AsyncLock.lock()", "lock")
          + Self.line("PlantedHangTests.Bank.deposit()", "deposit")), "\(report)")
    #expect(
      report.contains(try Self.line("PlantedHangTests.Bank.withdraw()", "withdraw")), "\(report)")
  }

  // MARK: - A channel is full

  private actor Channel {
    private var elements: [Int] = []
    private var senders: [CheckedContinuation<Void, Never>] = []

    func send(_ element: Int) async {
      elements.append(element)
      if elements.count > 2 { await withCheckedContinuation { senders.append($0) } }  // here: send
    }
  }

  @Test func aFullChannel() async throws {
    let report = try await Self.report { _ in
      let channel = Channel()
      Task(name: "producer") { for number in 0..<5 { await channel.send(number) } }
    }
    #expect(
      report.contains(try Self.line("PlantedHangTests.Channel.send(_:)", "send")), "\(report)")
  }

  // MARK: - A child of a group hangs

  private static func fetchAll() async {
    await withTaskGroup { group in  // here: fetchAll
      group.addTask(name: "fast") {}
      group.addTask(name: "slow") { await Gate().wait() }
    }
  }

  @Test func aGroupWhoseChildHangs() async throws {
    let report = try await Self.report { _ in Task(name: "loader") { await Self.fetchAll() } }
    #expect(report.contains(/- task #\d+ "loader" awaits its child tasks\n/), "\(report)")
    #expect(report.contains(try Self.line("PlantedHangTests.fetchAll()", "fetchAll")), "\(report)")
    #expect(report.contains(/\n {2}- child task #\d+ "slow" awaits a continuation\n/), "\(report)")
    #expect(!report.contains("fast"))
  }

  // MARK: - A stream is never finished

  private static func listen(to stream: AsyncStream<Int>) async {
    for await _ in stream {}  // here: listen
  }

  @Test(.unless(.streamsAreContinuations)) func aStreamThatIsNeverFinished() async throws {
    let (stream, end) = AsyncStream<Int>.makeStream()
    let report = try await Self.report { _ in
      Task(name: "listener") { await Self.listen(to: stream) }
    }
    let state = /task #\d+ "listener" awaits a continuation, in AsyncStream.Iterator.next\(.*\)\n/
    #expect(report.contains(state), "\(report)")
    #expect(report.contains(try Self.line("PlantedHangTests.listen(to:)", "listen")), "\(report)")
    end.finish()
  }

  // MARK: - Time does not advance

  private static func pause() async { try? await Task.sleep(for: .seconds(3)) }  // here: pause

  @Test func aSleepToWhichTimeDoesNotAdvance() async throws {
    let report = try await Self.report { _ in Task(name: "sleeper") { await Self.pause() } }
    let state = /task #\d+ "sleeper" sleeps until 3.0 seconds on ContinuousClock\n/
    #expect(report.contains(state), "\(report)")
    #expect(report.contains(try Self.line("PlantedHangTests.pause()", "pause")), "\(report)")
  }
}
