import ClocksSupport

/// What can be set from outside: the only place that reads the variables `CLOCKS_…` of the
/// environment, and others.
///
/// Each of ours is read once, when it is first asked for.
enum Environment {
  /// `CLOCKS_BLOCKED_AFTER`: how much real time makes a test count as stuck, in seconds; half a
  /// minute if nothing else is said.
  static let blockedAfter: Duration = {
    let seconds = value("CLOCKS_BLOCKED_AFTER").flatMap(Double.init) ?? 30
    return .seconds(seconds > 0 ? seconds : 30)
  }()

  /// `CLOCKS_RUNG`: the name of the highest rung that the process may take (`executors`,
  /// `enqueueHook` or `patience`), so that the lower ones can be tried out and tested.
  static let highestCapability: String? = value("CLOCKS_RUNG")

  /// `CLOCKS_DOOR`: the way in which the door to the Swift runtime is to be opened (`spi`, `create`,
  /// `scan`, `table`, `hook` or `none`), so that each can be tried out and tested.
  static let door: String? = value("CLOCKS_DOOR")

  /// `CLOCKS_SCHEDULES`: how many schedules each explored test tries, in place of what it says itself.
  static let schedules: String? = text("CLOCKS_SCHEDULES")

  /// `CLOCKS_SEED`: with what searches begin to throw dice, a number or `random`.
  static let seed: String? = text("CLOCKS_SEED")

  /// `CLOCKS_SHARD`: which of several processes that share each search this one is, for example `3/16`.
  static let shard: String? = text("CLOCKS_SHARD")

  /// `CLOCKS_SCHEDULES_DIR`: a folder in which the tokens of failures are kept, to be tried first the
  /// next time.
  static let schedulesFolder: String? = text("CLOCKS_SCHEDULES_DIR")

  /// `CLOCKS_HASHING`: `random` leaves the seed with which the process hashes to chance, as it is
  /// without this package.
  static let hashing: String? = value("CLOCKS_HASHING")

  /// `CLOCKS_TRACE`: the folder in which each test leaves a picture of what happened in it, and the same
  /// for Perfetto.
  static let traceFolder: String? = text(traceFolderName)
  static let traceFolderName = "CLOCKS_TRACE"

  /// `CLOCKS_DUMP_SIGNAL`: the name of the signal at which the process says where the tasks of its tests
  /// are, for example `USR1`; none if nothing is said.
  static let dumpSignal: String? = text("CLOCKS_DUMP_SIGNAL")

  /// `CLOCKS_DISPATCH`: `0` if work on queues of Dispatch's is not to be seen, so that this can be
  /// tried out and tested.
  static let seesDispatch = value("CLOCKS_DISPATCH") != "0"

  /// `CLOCKS_FAST`: `0` if every sleep on a `TestClock` is to take the general way, so that both can be
  /// tried out and tested.
  static let usesFastWay = value("CLOCKS_FAST") != "0"

  /// Whether Xcode has told the process about a test bundle that it is to load.
  static var namesTestBundle: Bool {
    value("XCTestConfigurationFilePath") != nil || value("XCTestBundlePath") != nil
  }

  /// Where the system looks for programs.
  static var path: String { value("PATH") ?? "" }

  /// `nil` also for what is empty.
  private static func text(_ name: String) -> String? {
    value(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func value(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
