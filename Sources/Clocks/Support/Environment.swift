import ClocksSupport

/// The environment variables that the package reads, each once. No other file reads the environment.
package enum Environment {
  /// `CLOCKS_BLOCKED_AFTER`: after how many seconds of real time a test counts as stuck; 30 by default.
  static let blockedAfter: Duration = {
    let seconds = value("CLOCKS_BLOCKED_AFTER").flatMap(Double.init) ?? 30
    return .seconds(seconds > 0 ? seconds : 30)
  }()

  /// `CLOCKS_DOOR`: the hook strategy to use (`spi`, `create`, `scan`, `table`, `hook` or `none`). By default
  /// the package chooses one; tests check each.
  static let hookStrategy: String? = value("CLOCKS_DOOR")

  /// `CLOCKS_SCHEDULES`: the number of schedules of each explored test, instead of the test's own.
  static let schedules: String? = text("CLOCKS_SCHEDULES")

  /// `CLOCKS_SEED`: the seed of searches, a number or `random`.
  static let seed: String? = text("CLOCKS_SEED")

  /// `CLOCKS_SHARD`: this process's part of each search, for example `3/16`.
  static let shard: String? = text("CLOCKS_SHARD")

  /// `CLOCKS_SCHEDULES_DIR`: the folder that keeps the tokens of failures, which the next run tries first.
  static let schedulesFolder: String? = text("CLOCKS_SCHEDULES_DIR")

  /// `CLOCKS_HASHING`: `random` leaves the process's hash seed random, as it is without this package.
  static let hashing: String? = value("CLOCKS_HASHING")

  /// `CLOCKS_TRACE`: the folder in which each test leaves its timeline, as a picture and for Perfetto.
  static let traceFolder: String? = text(traceFolderName)
  static let traceFolderName = "CLOCKS_TRACE"

  /// `CLOCKS_DUMP_SIGNAL`: the signal at which the process prints a task dump, for example `USR1`.
  static let dumpSignal: String? = text("CLOCKS_DUMP_SIGNAL")

  /// `CLOCKS_KEEP_PROCESS`: `1` keeps the process when only stuck tests are left, for a debugger.
  static let keepsProcess = value("CLOCKS_KEEP_PROCESS") == "1"

  /// `CLOCKS_DISPATCH`: `0` leaves work on dispatch queues unseen, for tests.
  static let seesDispatch = value("CLOCKS_DISPATCH") != "0"

  /// `CLOCKS_FAST`: `0` makes every sleep on a `TestClock` take the general path, for tests.
  static let usesFastWay = value("CLOCKS_FAST") != "0"

  /// `CLOCKS_EVERYWHERE`: `1` runs each test of the process in virtual time; `real` only measures them.
  package static let everywhere: String? = text("CLOCKS_EVERYWHERE")

  /// `CLOCKS_EVERYWHERE_RECORDS`: the folder in which the process leaves what it knows of each test.
  package static let everywhereRecords: String? = text("CLOCKS_EVERYWHERE_RECORDS")

  /// `CLOCKS_EVERYWHERE_SEED`: the seed of the order of each test; first in, first out without it.
  package static let everywhereSeed: UInt64? = text("CLOCKS_EVERYWHERE_SEED").flatMap(UInt64.init)

  /// `CLOCKS_EVERYWHERE_REPLAY`: the token of one order of one test.
  package static let everywhereReplay: String? = text("CLOCKS_EVERYWHERE_REPLAY")

  /// `CLOCKS_EVERYWHERE_REAL`: the tests that run in real time, one a line.
  package static let everywhereReal: [String] = lines("CLOCKS_EVERYWHERE_REAL")

  /// `CLOCKS_EVERYWHERE_ONLY`: the tests that run in virtual time, one a line; all of them without it.
  package static let everywhereOnly: [String] = lines("CLOCKS_EVERYWHERE_ONLY")

  private static func lines(_ name: String) -> [String] {
    text(name)?.split(separator: "\n").map(String.init) ?? []
  }

  /// Whether Xcode has told the process to load a test bundle.
  static var namesTestBundle: Bool {
    value("XCTestConfigurationFilePath") != nil || value("XCTestBundlePath") != nil
  }

  static var path: String { value("PATH") ?? "" }

  /// The variable's value, or `nil` if it is empty.
  private static func text(_ name: String) -> String? {
    value(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func value(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
