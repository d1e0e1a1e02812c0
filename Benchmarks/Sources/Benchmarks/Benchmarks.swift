import ArgumentParser
import Clocks
import Foundation

@main
struct Benchmarks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Benchmarks",
    abstract: "Measures the clocks beside the floor: a bare loop of continuations and a heap.")

  @Flag(help: "Small sizes and few runs, in less than a minute: to see that everything works.")
  var quick = false

  @Option(help: "How often each pair is measured.")
  var runs: Int?

  @Option(help: "Only the measurements whose name contains this.")
  var only: String?

  @Option(help: "Where to write the figures as JSON.")
  var json: String?

  mutating func run() async throws {
    let sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000]
    let runs = runs ?? (quick ? 3 : 7)
    var rows: [Comparison] = []
    func compare(
      _ name: String, _ count: Int, ours: () async -> Double, floor: () async -> Double
    ) async {
      if let only, !name.contains(only) { return }
      var row = Comparison(
        name: name, count: count, ours: Measurement(runs: []), floor: Measurement(runs: []))
      for run in 0...runs {
        let (our, its) = (await ours(), await floor())
        // The first pair warms up.
        if run == 0 { continue }
        row.ours.runs.append(our)
        row.floor?.runs.append(its)
      }
      rows.append(row)
      print(Report.line(row))
    }

    print(Report.header)
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
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try encoder.encode(rows).write(to: URL(fileURLWithPath: json))
    }
  }
}

enum Report {
  static let header = line("", "n", "median", "min", "max", "floor", "ratio")

  static func line(_ row: Comparison) -> String {
    line(
      row.name, "\(row.count)", number(row.ours.median), number(row.ours.minimum),
      number(row.ours.maximum), row.floor.map { number($0.median) } ?? "",
      row.ratio.map { String(format: "%.2f", $0) } ?? "")
  }

  private static func line(
    _ name: String, _ count: String, _ median: String, _ minimum: String, _ maximum: String,
    _ floor: String, _ ratio: String
  ) -> String {
    name.padding(toLength: 28, withPad: " ", startingAt: 0)
      + [count, median, minimum, maximum, floor, ratio]
      .map { String(repeating: " ", count: max(1, 11 - $0.count)) + $0 }.joined()
  }

  private static func number(_ nanoseconds: Double) -> String {
    String(format: nanoseconds < 10_000 ? "%.0f ns" : "%.3g ns", nanoseconds)
  }
}
