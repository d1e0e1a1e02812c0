import ClocksSupport
import Foundation

/// Runs a test suite in virtual time, unedited, and reports what that changes.
@main
struct EverywhereCommand {
  static func main() {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      if arguments.first == "merge" { exit(try MergeCommand(Array(arguments.dropFirst())).run()) }
      let options = try Options(arguments)
      exit(try EverywhereCommand(options: options).run())
    } catch Options.Problem.help(let text) {
      print(text)
    } catch Options.Problem.wrong(let text) {
      fail(text)
      exit(64)
    } catch let problem as ChildProcesses.Problem {
      fail(problem.description)
      exit(127)
    } catch {
      fail(text(of: error))
      exit(70)
    }
  }

  /// Returns the path and the reason of an error of a file; the whole error if it has none.
  private static func text(of error: any Error) -> String {
    guard let error = error as? CocoaError, let path = error.filePath ?? error.url?.path else {
      return "\(error)"
    }
    let reason = (error.underlying as? POSIXError).map {
      String(cString: strerror(Int32($0.errorCode)))
    }
    return "cannot use \(path): \(reason ?? error.localizedDescription)"
  }

  static func fail(_ text: String) {
    Terminal.writeLine("clocks-everywhere: \(text)")
  }

  let options: Options

  /// Runs the command as often as needed, and returns the exit code.
  func run() throws -> Int32 {
    let children = ChildProcesses()
    // The name is new: a command that was killed leaves its folder behind, and process ids are used again. It is short,
    // because tests may have sockets in it (`newTemporaryFolder`).
    let records = FileManager.default.temporaryDirectory
      .appendingPathComponent("clocks-everywhere-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: records, withIntermediateDirectories: true)
    let clean = { _ = try? FileManager.default.removeItem(at: records) }
    defer { clean() }
    children.interrupted = clean
    children.mark = records.path
    removeReport()
    let runner = SuiteRunner(options: options, records: records, children: children)
    let built = try runner.build()
    guard built == 0 else { return built }

    let start = ContinuousClock.now
    let (code, first) = try runner.runCommand()
    var report = SuiteReport(options: options, realSeconds: (.now - start).seconds)
    if let test = options.replay?.test, first.tests[test] == nil {
      throw Options.Problem.wrong(
        "--replay names \(test), but the command has no such test that can run in virtual time.")
    }
    guard !first.tests.isEmpty else {
      Self.fail(
        """
        no test has run in virtual time. Does a filter leave out all tests? Is the command `swift test`, or \
        a test bundle? Tests in a statically linked bundle cannot be run in virtual time.
        """)
      try write(report)
      return code
    }
    for problem in options.problems(with: Array(first.tests.keys)) { Self.fail(problem) }
    report.add(first)
    if options.orders > 1 {
      for run in try runner.runOrders(of: first) { report.add(run) }
    }
    if report.hasFailures, options.orders == 1, options.seed != nil || options.replay != nil {
      report.add(try runner.runFirstInFirstOut(first))
    }
    if report.hasFailures {
      // The run in real time takes as long as the tests sleep. It is left out if they sleep for five minutes or more.
      if first.virtualSeconds < 300 { report.addBaseline(try runner.runInRealTime(first)) }
      try repeatTests(of: first, with: runner, in: &report)
    }
    let text = report.text
    // Printing ends the process if the reader of its output has ended, so it comes last.
    clean()
    children.finish()
    let written = isReportADevice ? nil : Result { try write(report) }
    print(text)
    try (written ?? Result { try write(report) }).get()
    return options.orders > 1 ? (report.hasFailures ? 1 : code) : code
  }

  /// Repeats the tests that pass in some orders and fail in others, and those whose process ended.
  private func repeatTests(
    of first: RunRecords, with runner: SuiteRunner, in report: inout SuiteReport
  ) throws {
    let tests = report.testsToRepeat
    let seeds = Set(tests.filter { !$0.isAlone }.map(\.seed)).sorted()
    for (seed, run) in zip(seeds, try runner.replay(first, seeds: seeds)) {
      for test in tests where test.seed == seed && !test.isAlone {
        report.addReplay(of: test.name, run, isAlone: false)
      }
    }
    // Hundreds of tests may have been under way when the process ended. On a busy machine, one repetition may take a
    // minute.
    let end = ContinuousClock.now + .seconds(60)
    for (index, test) in tests.filter(\.isAlone).enumerated() {
      if index < 10 || ContinuousClock.now < end {
        let run = try runner.replay(first, test: test.name, seed: test.seed)
        report.addReplay(of: test.name, run, isAlone: true)
      } else {
        report.addNoReplay(of: test.name)
      }
    }
  }

  /// Removes an earlier report: if this run ended early, it would look like the report of this run. Keeps a link to it.
  private func removeReport() {
    let manager = FileManager.default
    guard !isReportADevice,
      let path = options.report.map({ URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }),
      let attributes = try? manager.attributesOfItem(atPath: path),
      attributes[.type] as? FileAttributeType == .typeRegular
    else { return }
    do {
      try manager.removeItem(atPath: path)
    } catch {
      // The folder does not permit it.
      try? Data().write(to: URL(fileURLWithPath: path))
    }
  }

  /// Whether the report goes to a file that is open already, such as `/dev/stdout` or `/dev/fd/3`.
  ///
  /// The files in `/dev/shm` are ordinary ones.
  private var isReportADevice: Bool {
    options.report.map { $0.hasPrefix("/dev/") && !$0.hasPrefix("/dev/shm/") } ?? false
  }

  private func write(_ report: SuiteReport) throws {
    guard let path = options.report else { return }
    if isReportADevice {
      // If the output is a file, opening it in another way would remove what it contains.
      fflush(nil)
      try TextFile.append(String(decoding: report.json, as: UTF8.self), to: path)
    } else {
      try report.json.write(to: URL(fileURLWithPath: path))
    }
  }
}
