import ClocksSupport

/// The environment variables that the library reads, each once. No other file of the library reads one.
///
/// A test process checks all of them at load. Other processes use the default instead of a value that is
/// not accepted, but a search with such a value fails.
package enum Environment {
  static let blockedAfter = Duration.seconds(
    value(of: .blockedAfter).flatMap(seconds(from:)) ?? 30)

  static let hookStrategy = value(of: .hookStrategy)

  static let search = SearchVariables(
    count: value(of: .schedules), seed: value(of: .seed), shard: value(of: .shard),
    folder: value(of: .schedulesFolder), reportsFolder: value(of: .reportsFolder))
  static let isVerbose = value(of: .verbose) == "1"

  static let hasRandomSeeds = value(of: .hashing) == "random"

  static let traceFolder = value(of: .traceFolder)

  static let dumpSignal = value(of: .dumpSignal).flatMap(number(ofSignal:))

  static let seesDispatch = value(of: .dispatch) != "0"

  static let usesFastWay = value(of: .fast) != "0"

  static let keepsProcess = value(of: .keepsProcess) == "1"

  /// Whether the process runs the body of an exit test. Must be read at load: Swift Testing removes the variable.
  static let isExitTest = text("SWT_EXIT_TEST_ID") != nil

  // The variables that the command `clocks-everywhere` sets.

  /// `1` runs each test of the process in virtual time; `real` only measures them.
  package static let everywhere = value(of: .everywhere)

  /// The folder in which the process leaves its records of tests.
  package static let everywhereRecords = text("CLOCKS_EVERYWHERE_RECORDS")

  /// The seed of the order of each test. Without a seed, jobs run first in, first out.
  package static let everywhereSeed = text("CLOCKS_EVERYWHERE_SEED").flatMap(UInt64.init)

  /// The token of one order of one test.
  package static let everywhereReplay = text("CLOCKS_EVERYWHERE_REPLAY")

  /// The tests that run in real time, one per line.
  package static let everywhereReal = lines("CLOCKS_EVERYWHERE_REAL")

  /// The tests that run in virtual time, one per line; if empty, all do.
  package static let everywhereOnly = lines("CLOCKS_EVERYWHERE_ONLY")

  /// The process ID of the command.
  package static let everywhereParent = text("CLOCKS_EVERYWHERE_PARENT").flatMap(Int32.init)

  /// The test process that started this process, as exit tests do; `nil` if none did. Tests of a process with a
  /// recorder do not count.
  static let everywhereRecorder = text("CLOCKS_EVERYWHERE_RECORDER")

  /// Sets `everywhereRecorder` in the processes that this process starts, but not in this one.
  ///
  /// Must be called at load, while the process has one thread.
  static func beginRecording() {
    #if !canImport(CRT) && !canImport(WASILibc)
      if everywhereRecorder == nil { setenv("CLOCKS_EVERYWHERE_RECORDER", "\(getpid())", 1) }
    #endif
  }

  private static func lines(_ name: String) -> [String] {
    text(name)?.split(separator: "\n").map(String.init) ?? []
  }

  /// Whether Xcode told the process to load a test bundle.
  static var namesTestBundle: Bool {
    getenv("XCTestConfigurationFilePath") != nil || getenv("XCTestBundlePath") != nil
  }

  static var path: String { text("PATH") ?? "" }

  private static func value(of variable: Variable) -> String? { text(variable.name) }

  /// A variable's value, or `nil` if it is empty.
  private static func text(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    fileprivate static let signals: [(name: String, number: CInt)] = [
      ("HUP", SIGHUP), ("INFO", infoSignal), ("INT", SIGINT), ("QUIT", SIGQUIT), ("USR1", SIGUSR1),
      ("USR2", SIGUSR2), ("WINCH", SIGWINCH),
    ].filter { $0.number != 0 }
  #else
    fileprivate static let signals: [(name: String, number: CInt)] = []
  #endif

  private static var infoSignal: CInt {
    #if canImport(Darwin)
      SIGINFO
    #else
      0
    #endif
  }

  /// The number of a signal, with or without `SIG` before its name.
  static func number(ofSignal name: String) -> CInt? {
    let name = name.uppercased()
    return signals.first { $0.name == name || "SIG" + $0.name == name }?.number
  }

  fileprivate static func seconds(from text: String) -> Double? {
    Double(text).flatMap { (0.001...1e9).contains($0) ? $0 : nil }
  }

  static func count(from text: String) -> Int? { Int(text).flatMap { $0 > 0 ? $0 : nil } }

  static func seed(from text: String) -> UInt64? { Int64(text).flatMap(UInt64.init(exactly:)) }

  static func shard(from text: String) -> (number: Int, count: Int)? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]),
      (1...1_000_000).contains(count), (1...count).contains(number)
    else { return nil }
    return (number, count)
  }
}

extension Environment {
  struct SearchVariables: Sendable {
    var count: String?
    var seed: String?
    var shard: String?
    var folder: String?
    var reportsFolder: String?
  }

  /// A variable that users may set. `Docs/Environment.md` is a table of these texts.
  struct Variable: Sendable {
    let name: String
    let meaning: String
    /// The accepted values, as the end of the sentence "It can only be …".
    let accepted: String
    let standard: String
    let accepts: @Sendable (String) -> Bool

    fileprivate init(
      _ name: String, _ meaning: String, _ accepted: String, standard: String,
      accepts: @escaping @Sendable (String) -> Bool = { _ in true }
    ) {
      (self.name, self.meaning, self.accepted) = (name, meaning, accepted)
      (self.standard, self.accepts) = (standard, accepts)
    }

    fileprivate init(
      _ name: String, _ meaning: String, oneOf words: [String], standard: String
    ) {
      self.init(name, meaning, "one of: \(words.joined(separator: ", "))", standard: standard) {
        words.contains($0)
      }
    }

    /// Returns the error text for a value that is not accepted.
    func problem(with value: String) -> String {
      "\(name) is \"\(value)\", but can only be \(accepted). Unset it for the default: \(standard)."
    }
  }

  /// Checks the environment of a test process.
  ///
  /// A value that is not accepted ends the process with code 2 before a test runs: tests that ran with the default
  /// would not do what the user requests. An unknown name is only a warning: another program may use it.
  ///
  /// - Parameter entries: The environment, as an initializer receives it.
  static func check(_ entries: UnsafePointer<UnsafePointer<CChar>?>?) {
    guard var entry = entries else { return }
    var variables: [String] = []
    while let text = entry.pointee {
      if strncmp(text, prefix, strlen(prefix)) == 0 { variables.append(String(cString: text)) }
      entry += 1
    }
    guard !variables.isEmpty else { return }
    let (errors, warnings) = problems(of: variables)
    for text in errors.map({ "error: " + $0 }) + warnings.map({ "warning: " + $0 }) {
      Terminal.writeLine(text)
    }
    if !errors.isEmpty { _exit(2) }
  }

  private static let prefix = "CLOCKS_"
  /// The variables of this package's tests, and those that `clocks-everywhere` sets.
  private static let ownPrefixes = ["CLOCKS_TESTS_", "CLOCKS_EVERYWHERE_"]

  /// Returns the texts for values that are not accepted, and for unknown names.
  ///
  /// - Parameter variables: The variables with their values, as in `CLOCKS_SEED=7`.
  static func problems(of variables: [String]) -> (errors: [String], warnings: [String]) {
    var (errors, warnings): ([String], [String]) = ([], [])
    for variable in variables {
      let parts = variable.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      if let known = Variable.all.first(where: { $0.name == name }) {
        if !value.isEmpty, !known.accepts(value) { errors.append(known.problem(with: value)) }
      } else if !ownPrefixes.contains(where: name.hasPrefix) {
        warnings.append("\(name) is not a variable of swift-test-clocks. \(suggestion(for: name))")
      }
    }
    return (errors, warnings)
  }

  private static func suggestion(for name: String) -> String {
    let wanted = name.uppercased()
    let all = Variable.all.map { (name: $0.name, distance: distance(from: wanted, to: $0.name)) }
    // A name of which more than a third is wrong may mean any variable.
    guard let nearest = all.min(by: { $0.distance < $1.distance }),
      nearest.distance * 3 <= name.utf8.count - prefix.utf8.count
    else { return "It has: \(all.map(\.name).joined(separator: ", "))." }
    return "Is \(nearest.name) meant?"
  }

  /// Returns how many characters have to be added, removed or replaced (the Levenshtein distance).
  private static func distance(from text: String, to other: String) -> Int {
    let other = Array(other.utf8)
    var row = Array(0...other.count)
    for (line, character) in text.utf8.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for column in other.indices {
        let above = row[column + 1]
        row[column + 1] =
          character == other[column] ? diagonal : min(diagonal, above, row[column]) + 1
        diagonal = above
      }
    }
    return row[other.count]
  }
}

extension Environment.Variable {
  static let all = [
    blockedAfter, keepsProcess, dumpSignal, traceFolder, schedules, seed, shard, schedulesFolder,
    reportsFolder, verbose, everywhere, hashing, hookStrategy, dispatch, fast,
  ]

  static let blockedAfter = Self(
    "CLOCKS_BLOCKED_AFTER", "the seconds of real time after which a test counts as stuck",
    "a number from 0.001 to 1000000000", standard: "30"
  ) { Environment.seconds(from: $0) != nil }

  static let keepsProcess = Self(
    "CLOCKS_KEEP_PROCESS", "whether the process is kept when only stuck tests are left",
    oneOf: ["0", "1"], standard: "0")

  static let everywhere = Self(
    "CLOCKS_EVERYWHERE", "whether each test runs in virtual time, or is only measured",
    oneOf: ["1", "real"], standard: "the tests run as they are")

  static let dumpSignal = Self(
    "CLOCKS_DUMP_SIGNAL", "the signal on which the process prints the task dumps of all tests",
    "one of: \(Environment.signals.map(\.name).joined(separator: ", "))", standard: "no signal"
  ) { Environment.number(ofSignal: $0) != nil }

  static let traceFolder = Self(
    "CLOCKS_TRACE", "the folder into which each test writes its timeline", "a path",
    standard: "no timelines are written")

  static let schedules = Self(
    "CLOCKS_SCHEDULES", "the number of schedules of each explored test",
    "a number of schedules, 1 or more, for example 100000", standard: "the number of the test"
  ) { Environment.count(from: $0) != nil }

  static let seed = Self(
    "CLOCKS_SEED", "the seed of each search", "a number from 0 to \(Int64.max), or `random`",
    standard: "the `seed:` of the test, or a number that follows from its name"
  ) { $0 == "random" || Environment.seed(from: $0) != nil }

  static let shard = Self(
    "CLOCKS_SHARD", "the part of each search that this process does",
    "the number of a part and the number of all parts, for example 3/16 for the third of 16",
    standard: "the whole search"
  ) { Environment.shard(from: $0) != nil }

  static let schedulesFolder = Self(
    "CLOCKS_SCHEDULES_DIR", "the folder that keeps the tokens of failures for the next run",
    "a path", standard: "no tokens are kept")

  static let reportsFolder = Self(
    "CLOCKS_SCHEDULES_REPORTS",
    "the folder into which each explored test writes what its search has found, for `clocks-everywhere merge`",
    "a path", standard: "no reports are written")

  static let verbose = Self(
    "CLOCKS_VERBOSE", "whether each explored test that passes writes a line about its search",
    oneOf: ["0", "1"], standard: "0")

  static let hashing = Self(
    "CLOCKS_HASHING", "whether a test process hashes with fixed seeds, or with random ones",
    oneOf: ["fixed", "random"], standard: "fixed")

  static let hookStrategy = Self(
    "CLOCKS_DOOR", "the hook strategy", oneOf: ["spi", "scan", "table", "hook", "none"],
    standard: "the best one that works")

  static let dispatch = Self(
    "CLOCKS_DISPATCH", "whether work on dispatch queues is seen", oneOf: ["0", "1"], standard: "1")

  static let fast = Self(
    "CLOCKS_FAST", "whether sleeps on a `TestClock` may take the fast path", oneOf: ["0", "1"],
    standard: "1")
}
