import ClocksSearch
import ClocksSupport
import Testing

@testable import Clocks

/// A long search keeps no memory of its runs, and all replays of a schedule are equal.
extension SoakTests {
  private actor Box {
    var value = 0
    func get() -> Int { value }
    func set(_ value: Int) { self.value = value }
  }

  /// A test of about fifty jobs.
  private static func smallTest(_ time: VirtualTime) async throws {
    let box = Box()
    let tasks = (0..<8).map { number in
      Task {
        let value = await box.get()
        try await Task.sleep(for: .milliseconds(number % 3))
        await box.set(value + 1)
      }
    }
    for task in tasks { try await task.value }
    guard await box.get() > 0 else { throw CancellationError() }
  }

  private var options: ScopeOptions {
    var options = ScopeOptions()
    options.isExplored = true
    options.recording = .never(RefusedRecording())
    return options
  }

  @Test func aMillionSchedules() async throws {
    try #require(Hops.missing == nil)
    let count = soakCount
    let runs = Tally()
    let early = Log<ProcessSize>()
    let start = RealTime(in: .zero)
    let explore = Exploration(
      limits: .init(count: count, seed: 1), time: nil, options: options, origin: CallSite(),
      gate: IssueGate())
    let outcome = await explore { time in
      if runs.value == max(1, count / 10) { early.add(ProcessSize()) }
      runs.add()
      try await Self.smallTest(time)
    }
    let seconds = Double(start.nanosecondsSince) / 1e9
    let late = ProcessSize()
    guard case .passed(let summary) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    let rate = Int(Double(count) / seconds)
    print("\(summary), \(rate) a second: at a tenth \(early.all), at the end \(late)")
    let size = try #require(early.all.first)
    try #require(size.isKnown)
    #expect(summary.schedules == count)
    // An order is remembered by its hash, in a table that doubles when it is full.
    #expect(late.kilobytes <= size.kilobytes + size.kilobytes / 20 + 4_096 + count * 48 / 1_024)
    #expect(late.threads <= size.threads + 2)
  }

  @Test func eachReplayIsTheSame() async throws {
    try #require(Hops.missing == nil)
    let one = OneRun(options: options, origin: CallSite(), findings: Findings())
    let run = one.run
    _ = await one(.random(seed: 7), Self.smallTest)
    let (constraints, jobs) = (run.record.constraints, run.record.steps.count)
    let hash = run.record.hash
    #expect(constraints.count > 3)
    var hashes: [UInt64: Int] = [:]
    let start = RealTime(in: .zero)
    for _ in 0..<soakCount {
      _ = await one(.constraints(constraints), Self.smallTest)
      hashes[run.record.hash, default: 0] += 1
    }
    let rate = Int(Double(soakCount) / (Double(start.nanosecondsSince) / 1e9))
    print("\(soakCount) replays of \(jobs) steps, \(rate) a second: \(hashes.count) order")
    #expect(hashes == [hash: soakCount])
  }
}
