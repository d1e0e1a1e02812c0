import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Waits, in the tests below.
private struct Poller {
  let clock: TestClock<Duration>

  func poll() async throws {
    while true { try await pause() }
  }

  func pause() async throws {
    try await clock.sleep(for: .seconds(5))
  }
}

private final class Cache: Sendable {
  nonisolated(unsafe) var loading: Task<Void, Never>?
  nonisolated(unsafe) var refreshing: Task<Void, Never>?

  func load() async { await refreshing?.value }
  func refresh() async { await loading?.value }
}

private actor Journal {
  func flush(_ semaphore: DispatchSemaphore) { _ = semaphore.wait(timeout: .now() + 60) }
}

/// An actor whose jobs run on request.
private actor Screen {
  final class Easel: SerialExecutor, @unchecked Sendable {
    private let lock = NSLock()
    /// Guarded by `lock`.
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      lock.withLock { jobs.append(job) }
    }

    func runAll() {
      for job in lock.withLock({ jobs }) { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }

  nonisolated let executor = Easel()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func draw() {}
}

/// The reports that Docs/Troubleshooting.md shows: each is there as the tests produce it, except for the
/// numbers of tasks and lines.
@Suite struct PollerTests {
  private static func unnumbered(_ text: String) -> String {
    text.withoutNumbers.replacing(/until [\d.]+ seconds/, with: "until some seconds")
      // Newer versions of Swift Testing give the tasks of tests names.
      .replacing(/\s"\[Swift Testing\] [^"]*"/, with: "")
  }

  /// Expects that the page has the dump of a report, below a heading that quotes the report.
  private static func expectToBeDocumented(
    _ report: String?, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let report = report ?? ""
    let parts = report.components(separatedBy: "\n\nWhere the test's ")
    #expect(parts.count == 2, "\(report)", sourceLocation: sourceLocation)
    let dump = unnumbered("\n```text\nWhere the test's " + (parts.last ?? "") + "\n```\n")
    let rows = Troubleshooting.rows.filter { unnumbered($0.text).contains(dump) }
    #expect(!rows.isEmpty, "\(dump)", sourceLocation: sourceLocation)
    let quotes = rows.flatMap(\.quotes).filter { Troubleshooting.quote($0, fits: parts[0]) }
    #expect(
      !quotes.isEmpty, "\(parts[0]) stands below \(rows.map(\.heading))",
      sourceLocation: sourceLocation)
  }

  private static func report(of body: () async throws -> Void) async throws -> String? {
    try await recordedIssues(body).first?.message
  }

  @Test func checksSuspension() async throws {
    let clock = TestClock()
    let poller = Task(name: "poller") { try await Poller(clock: clock).poll() }
    let error = await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    Self.expectToBeDocumented(error?.description)
    poller.cancel()
  }

  @Test func runsForEver() async throws {
    let clock = TestClock()
    let poller = Task(name: "poller") { try await Poller(clock: clock).poll() }
    Self.expectToBeDocumented(try await Self.report { await clock.run(timeout: .zero) })
    poller.cancel()
  }

  @Test(.unless(.yieldsAreContinuations)) func leavesASpinnerBehind() async throws {
    Self.expectToBeDocumented(
      try await Self.report {
        try await withVirtualTime(leftoverSleeps: .fail) { time in
          let spinner = Task(name: "spinner") { while !Task.isCancelled { await Task.yield() } }
          _ = spinner
          time.scheduler.change { $0.runaway.limits.jobs = 1_000 }
        }
      })
  }

  @Test(.unless(.yieldsAreContinuations)) func yieldsForEver() async throws {
    let clock = TestClock()
    let scheduler = clock.scheduler
    scheduler.change { $0.runaway.limits.jobs = 1_000 }
    let spinner = Task(name: "spinner") { while !Task.isCancelled { await Task.yield() } }
    Self.expectToBeDocumented(try await Self.report { await clock.settle() })
    spinner.cancel()
  }

  @Test(.unless(.yieldsAreContinuations)) func awaitsEachOther() async throws {
    Self.expectToBeDocumented(
      try await Self.report {
        try? await withVirtualTime(stuckAfter: .milliseconds(50)) { _ in
          let cache = Cache()
          cache.loading = Task(name: "load") { await cache.load() }
          cache.refreshing = Task(name: "refresh") { await cache.refresh() }
          let (stream, end) = AsyncStream<Never>.makeStream()
          for await _ in stream {}
          end.finish()
        }
      })
  }

  @Test func movesNoTime() async throws {
    Self.expectToBeDocumented(
      try await Self.report {
        try? await withVirtualTime(autoAdvance: false, stuckAfter: .milliseconds(50)) { time in
          try await Poller(clock: time.clock).poll()
        }
      })
  }

  @Test func leavesAPollerBehind() async throws {
    Self.expectToBeDocumented(
      try await Self.report {
        try await withVirtualTime(leftoverSleeps: .fail) { time in
          Task(name: "poller") { try await Poller(clock: time.clock).poll() }
          try await Task.sleep(for: .seconds(7))
        }
      })
  }

  @Test func sleepsAgainAndAgain() async throws {
    let isOver = Tally()
    let last = Log<Task<Void, Never>>()
    Self.expectToBeDocumented(
      try await Self.report {
        try await withVirtualTime { time in
          // This task is not cancelled: only the tasks that sleep for it are.
          Task(name: "heart") {
            while isOver.value == 0 {
              let beat = Task(name: "beat") { _ = try? await Poller(clock: time.clock).pause() }
              last.add(beat)
              await beat.value
            }
          }
          await time.settle()
        }
      })
    isOver.add()
    last.all.last?.cancel()
  }

  @Test func pollsForTooLong() async throws {
    Self.expectToBeDocumented(
      try await Self.report {
        try? await withVirtualTime(runningLimit: .milliseconds(300)) { time in
          try await Poller(clock: time.clock).poll()
        }
      })
  }

  @Test func holdsTime() async throws {
    let options = ScopeOptions(stuckAfter: .milliseconds(50), heldFor: .milliseconds(50))
    Self.expectToBeDocumented(
      try await Self.report {
        try? await VirtualTime(options, at: .here()).run { time in
          try await time.holding { try await Poller(clock: time.clock).pause() }
        }
      })
  }

  @Test(
    arguments: ["blocksAThread", "forgetsToAdvance", "runsNoJobs"].filter {
      $0 != "blocksAThread" || (areThreadsShown && !isUnderAddressSanitizer)
    })
  func inAProcessOfItsOwn(_ test: String) async throws {
    let child = try await ChildProcess.runSwiftTesting(
      "StuckPollerTests.*\(test)\\(",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.3", ChildVariable.stuckPoller: "1"])
    #expect(child.exitCode == 1, "\(child)")
    // Swift Testing indents all lines of an issue but the first.
    let all = child.standardError.split(separator: "\n", omittingEmptySubsequences: false)
    let lines = all.drop { !$0.hasPrefix("  Where the test's ") }.prefix { $0.hasPrefix("  ") }
    let report = all.prefix(lines.startIndex - 1) + [""] + lines.map { $0.dropFirst(2) }
    Self.expectToBeDocumented(report.joined(separator: "\n"))
  }
}

/// Tests that are stuck, and run only in the child processes of the tests above.
@Suite(.onlyInChild(ChildVariable.stuckPoller)) struct StuckPollerTests {
  @Test func blocksAThread() async {
    let clock = TestClock()
    let semaphore = DispatchSemaphore(value: 0)
    clock.scheduler.signalWhenAbandoned(semaphore)
    let journal = Journal()
    let writer = Task(name: "writer") { await journal.flush(semaphore) }
    let reader = Task(name: "reader") {}
    await clock.settle()
    await writer.value
    await reader.value
  }

  @Test func runsNoJobs() async {
    let clock = TestClock()
    let screen = Screen()
    let artist = Task(name: "artist") { await screen.draw() }
    await clock.settle()
    screen.executor.runAll()
    await artist.value
  }

  @Test func forgetsToAdvance() async {
    let clock = TestClock()
    let poller = Task(name: "poller") { try await Poller(clock: clock).poll() }
    await #expect(throws: CancellationError.self) { try await poller.value }
  }
}
