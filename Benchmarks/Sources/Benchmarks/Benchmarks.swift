import ArgumentParser
import Foundation
import Workloads

@main
struct Benchmarks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Benchmarks",
    abstract: "Compares the clocks with the floor: a bare loop of continuations and a heap.")

  @Flag(help: "Small sizes and few runs, in less than a minute: shows that everything works.")
  var quick = false

  @Option(help: "The number of measurements of each pair.")
  var runs: Int?

  @Option(help: "Only the measurements whose name contains this.")
  var only: String?

  @Option(help: "Write the figures to this file, as JSON.")
  var json: String?

  @Option(help: .hidden)
  var child: Child?

  @Option(help: .hidden)
  var count = 0

  /// The workloads that need a process of their own, because a process reuses memory, and its hooks stay
  /// installed after its first clock.
  enum Child: String, ExpressibleByArgument {
    case sleeping, suspended, strangers, strangersBesideAClock, hopInATest, hopOfNoTest
    case loop, recordedLoop, schedules, scopesOfFiftyJobs, clusters, scopesOfClusters

    func measure(_ count: Int) async -> Double {
      switch self {
      case .sleeping: return await Workloads.bytesSleeping(count)
      case .suspended: return await Workloads.bytesSuspended(count)
      case .strangers:
        _ = await Workloads.strangers(count)
        return await Workloads.strangers(count)
      case .strangersBesideAClock:
        _ = await Workloads.strangersBesideAClock(count)
        return await Workloads.strangersBesideAClock(count)
      case .loop:
        _ = await Workloads.loopOurs(count)
        return await Workloads.loopOurs(count)
      case .recordedLoop:
        _ = await Workloads.loopRecorded(count)
        return await Workloads.loopRecorded(count)
      case .schedules: return await Workloads.schedules(count)
      case .scopesOfFiftyJobs: return await Workloads.scopesOfFiftyJobs(count)
      case .clusters: return await Workloads.clusters(count)
      case .scopesOfClusters: return await Workloads.scopesOfClusters(count)
      case .hopInATest: return await Workloads.hopInATest(count)
      case .hopOfNoTest: return await Workloads.hopOfNoTest(count)
      }
    }

    /// Measures the workload in another process.
    func measureInAProcessOfItsOwn(_ count: Int) -> Double {
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["--child", rawValue, "--count", "\(count)"]
      let output = Pipe()
      process.standardOutput = output
      try! process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      guard process.terminationStatus == 0,
        let cost = Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
      else { fatalError("The process that measures \(rawValue) has failed.") }
      return cost
    }
  }

  mutating func run() async throws {
    if let child { return print(await child.measure(count)) }
    let sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000]
    let runs = runs ?? (quick ? 3 : 7)
    var rows: [Comparison] = []
    func compare(
      _ name: String, _ count: Int, unit: String = "ns", with floorName: String = "floor",
      ours: () async -> Double, floor: () async -> Double
    ) async {
      if let only, !name.contains(only) { return }
      var row = Comparison(
        name: name, count: count, unit: unit, floorName: floorName, ours: Measurement(runs: []),
        floor: Measurement(runs: []))
      for run in 0...runs {
        let (our, its) = (await ours(), await floor())
        // The first pair is the warm-up.
        if run == 0 { continue }
        row.ours.runs.append(our)
        row.floor?.runs.append(its)
      }
      rows.append(row)
      print(Report.line(row))
      // Flush, because a run takes many minutes and may write into a pipe.
      fflush(nil)
    }

    print(Report.header)
    // First the production code, while this process has no test clock.
    let calls = quick ? 10_000 : 100_000
    await compare(
      "TimeoutTask that succeeds", calls / 10, with: "two children",
      ours: {
        await Workloads.timeoutTask(calls / 10)
      }, floor: { await Workloads.twoChildren(calls / 10) })
    await compare(
      "TimeoutTask that succeeds", calls / 10, with: "bare Task",
      ours: {
        await Workloads.timeoutTask(calls / 10)
      }, floor: { await Workloads.bareTask(calls / 10) })
    await compare(
      "withTimeout that succeeds", calls / 10, with: "two children",
      ours: {
        await Workloads.timeout(calls / 10)
      }, floor: { await Workloads.twoChildren(calls / 10) })
    for size in sizes {
      let deadlines = Workloads.shuffled(size)
      let equal = Array(repeating: 1, count: size)
      await compare("wake, distinct deadlines", size) {
        await Workloads.wakeOurs(deadlines)
      } floor: {
        await Workloads.wakeFloor(deadlines)
      }
      await compare("wake, equal deadlines", size) {
        await Workloads.wakeOurs(equal)
      } floor: {
        await Workloads.wakeFloor(equal)
      }
      await compare("register", size) {
        await Workloads.registerOurs(deadlines)
      } floor: {
        await Workloads.registerFloor(deadlines)
      }
      await compare("cancel", size) {
        await Workloads.cancelOurs(deadlines)
      } floor: {
        await Workloads.cancelFloor(deadlines)
      }
      await compare("one task in a loop", size) {
        await Workloads.loopOurs(size)
      } floor: {
        await Workloads.loopFloor(size)
      }
    }
    await compare(
      "loop, recorded: 6 events", calls, with: "not recorded",
      ours: {
        Child.recordedLoop.measureInAProcessOfItsOwn(calls)
      }, floor: { Child.loop.measureInAProcessOfItsOwn(calls) })
    await compare(
      "a schedule of 50 jobs", calls / 20, with: "in a scope",
      ours: {
        Child.schedules.measureInAProcessOfItsOwn(calls / 20)
      }, floor: { Child.scopesOfFiftyJobs.measureInAProcessOfItsOwn(calls / 20) })
    await compare(
      "5 nodes, 1,000 messages", calls / 1_000, with: "in a scope",
      ours: {
        Child.clusters.measureInAProcessOfItsOwn(calls / 1_000)
      }, floor: { Child.scopesOfClusters.measureInAProcessOfItsOwn(calls / 1_000) })
    await compare(
      "advance past nothing", calls, with: "continuation",
      ours: {
        await Workloads.advancePastNothing(calls)
      }, floor: { await Workloads.bareFloor(calls) })
    await compare(
      "settle, nothing to do", calls, with: "continuation",
      ours: {
        await Workloads.settleNothing(calls)
      }, floor: { await Workloads.bareFloor(calls) })
    await compare(
      "1,000 clocks, a wake each", calls, with: "loop",
      ours: {
        await Workloads.manyClocks(calls)
      }, floor: { await Workloads.loopFloor(calls) })
    await compare(
      "a test of 20 advances, one of 600", 600, with: "20 of a loop",
      ours: {
        await Workloads.parallelTests(600)
      }, floor: { await 20 * Workloads.loopFloor(20 * 600) })
    await compare(
      "call of an actor in a test", calls, with: "elsewhere",
      ours: {
        Child.hopInATest.measureInAProcessOfItsOwn(calls)
      }, floor: { Child.hopOfNoTest.measureInAProcessOfItsOwn(calls) })
    await compare(
      "timer ticks", calls, with: "loop",
      ours: {
        await Workloads.timerTicks(calls)
      }, floor: { await Workloads.loopFloor(calls) })
    await compare(
      "un-injected sleep in a scope", calls, with: "loop",
      ours: {
        await Workloads.scopeLoop(calls)
      }, floor: { await Workloads.loopFloor(calls) })
    // The runtime takes a hundred seconds to end 100,000 children of one group.
    let sleepers = quick ? 20_000 : 100_000
    await compare(
      "bytes of a sleeping task", sleepers, unit: "B", with: "suspended",
      ours: {
        Child.sleeping.measureInAProcessOfItsOwn(sleepers)
      }, floor: { Child.suspended.measureInAProcessOfItsOwn(sleepers) })
    let strangers = quick ? 10_000 : 100_000
    await compare(
      "unowned task, with a clock", strangers, with: "without",
      ours: {
        Child.strangersBesideAClock.measureInAProcessOfItsOwn(strangers)
      }, floor: { Child.strangers.measureInAProcessOfItsOwn(strangers) })
    if rows.isEmpty { throw ValidationError("No measurement has such a name.") }
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try encoder.encode(rows).write(to: URL(fileURLWithPath: json))
    }
  }
}

enum Report {
  static let header = line("", "n", "median", "min", "max", "beside", "ratio", "of")

  static func line(_ row: Comparison) -> String {
    line(
      row.name, "\(row.count)", number(row.ours.median, row.unit),
      number(row.ours.minimum, row.unit), number(row.ours.maximum, row.unit),
      row.floor.map { number($0.median, row.unit) } ?? "",
      row.ratio.map { String(format: "%.2f", $0) } ?? "", row.floorName)
  }

  private static func line(
    _ name: String, _ count: String, _ median: String, _ minimum: String, _ maximum: String,
    _ floor: String, _ ratio: String, _ other: String
  ) -> String {
    name.padding(toLength: 30, withPad: " ", startingAt: 0)
      + [count, median, minimum, maximum, floor, ratio]
      .map { String(repeating: " ", count: max(1, 11 - $0.count)) + $0 }.joined() + "  " + other
  }

  private static func number(_ value: Double, _ unit: String) -> String {
    String(format: value < 100_000 ? "%.0f" : "%.3g", value) + " " + unit
  }
}
