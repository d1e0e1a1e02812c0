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
    } catch let problem as Options.Problem {
      switch problem {
      case .help: print(Options.help)
      case .wrong(let text): fail(text)
      }
      exit(problem == .help ? 0 : 64)
    } catch {
      fail("\(error)")
      exit(70)
    }
  }

  static func fail(_ text: String) {
    FileHandle.standardError.write(Data("clocks-everywhere: \(text)\n".utf8))
  }

  let options: Options

  /// Runs the command as often as needed, and returns the exit code.
  func run() throws -> Int32 {
    let records = FileManager.default.temporaryDirectory
      .appendingPathComponent("clocks-everywhere-\(getpid())")
    try FileManager.default.createDirectory(at: records, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: records) }
    let runner = SuiteRunner(options: options, records: records)
    guard try runner.build() == 0 else { return 1 }

    let start = Date()
    let code = try runner.runCommand()
    var report = SuiteReport(options: options, realSeconds: Date().timeIntervalSince(start))
    let first = RunRecords(folder: runner.folder(0))
    guard !first.tests.isEmpty else {
      Self.fail(
        """
        no test of this command was seen. Is it a test bundle, or `swift test`? A statically linked bundle \
        cannot be run in virtual time.
        """)
      return code
    }
    report.add(first)
    if options.orders > 1 {
      for run in try runner.runOrders(of: first) { report.add(run) }
    }
    if report.hasFailures, options.orders == 1, options.seed != nil || options.replay != nil {
      report.add(try runner.runFirstInFirstOut(first))
    }
    if report.hasFailures {
      // Without virtual time, the suite would take as long as its tests sleep.
      if first.virtualSeconds < 300 { report.addBaseline(try runner.runInRealTime(first)) }
      for (name, seed) in report.orderDependent {
        report.addReplay(of: name, try runner.replay(first, seed: seed))
      }
    }
    print(report.text)
    if let path = options.report {
      try report.json.write(to: URL(fileURLWithPath: path))
    }
    return options.orders > 1 ? (report.hasFailures ? 1 : code) : code
  }
}

/// The arguments of the command.
struct Options: Sendable {
  enum Problem: Error, Equatable {
    case help
    case wrong(String)
  }

  static let help = """
    usage: clocks-everywhere [options] COMMAND...
           clocks-everywhere merge [--output FILE] FOLDER...

    Runs a test suite in virtual time. COMMAND is `swift test` with its options, or a test bundle
    with its arguments. The suite is not changed.

      --orders N      run each test in N orders of its jobs; the first is first in, first out
      --seed S        the seed of the orders, or of the one order without --orders
      --replay TOKEN  run one test in the order of a token from a report
      --report FILE   write the report as JSON, too
      --real TEST     run a test, a suite or a module in real time; may be repeated
      --only TEST     run nothing else in virtual time; may be repeated

    Exits with the code of COMMAND; with --orders, with 1 if a test has failed in any order.
    """

  var orders = 1
  var seed: UInt64?
  var replay: String?
  var report: String?
  var real: [String] = []
  var only: [String] = []
  var command: [String] = []

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.first, option.hasPrefix("-") {
      rest = rest.dropFirst()
      if option == "--help" || option == "-h" { throw Problem.help }
      if option == "--" { break }
      guard let value = rest.popFirst() else { throw Problem.wrong("\(option) needs a value") }
      switch option {
      case "--orders":
        guard let number = Int(value), number > 0 else {
          throw Problem.wrong("--orders needs a number, 1 or more")
        }
        orders = number
      case "--seed":
        guard let number = UInt64(value) else { throw Problem.wrong("--seed needs a number") }
        seed = number
      case "--replay": replay = value
      case "--report": report = value
      case "--real": real.append(value)
      case "--only": only.append(value)
      default: throw Problem.wrong("\(option) is not an option; see --help")
      }
    }
    command = Array(rest)
    guard !command.isEmpty else { throw Problem.help }
  }

  /// The seed of the order in which the tests of the first run go; 0 is first in, first out.
  func firstSeed(of test: String) -> UInt64 {
    guard let replay else { return orders > 1 ? 0 : seed ?? 0 }
    let parts = replay.split(separator: "@")
    guard parts.dropLast().joined(separator: "@") == test else { return 0 }
    return parts.last.flatMap { UInt64($0) } ?? 0
  }

  /// Whether the command is `swift test`, which builds the suite first.
  var isSwiftTest: Bool {
    command.count > 1 && command[0].split(separator: "/").last == "swift" && command[1] == "test"
  }
}
