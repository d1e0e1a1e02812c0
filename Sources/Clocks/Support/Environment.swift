#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What can be set from outside: the only place that reads the variables `CLOCKS_…` of the
/// environment.
///
/// Each is read once, when it is first asked for.
enum Environment {
  /// `CLOCKS_BLOCKED_AFTER`: how much real time makes a test count as stuck, in seconds; half a
  /// minute if nothing else is said.
  static let blockedAfter: Duration = {
    let seconds = value("CLOCKS_BLOCKED_AFTER").flatMap(Double.init) ?? 30
    return .seconds(seconds > 0 ? seconds : 30)
  }()

  /// `CLOCKS_RUNG`: the name of the highest rung that the process may take (`executors`,
  /// `enqueueHook` or `patience`), so that the lower ones can be tried out and tested.
  static let highestRung: String? = value("CLOCKS_RUNG")

  /// `CLOCKS_DOOR`: the way in which the door to the Swift runtime is to be opened (`spi`, `create`,
  /// `scan`, `table`, `hook` or `none`), so that each can be tried out and tested.
  static let door: String? = value("CLOCKS_DOOR")

  /// `CLOCKS_DISPATCH`: `0` if work on queues of Dispatch's is not to be seen, so that this can be
  /// tried out and tested.
  static let seesDispatch = value("CLOCKS_DISPATCH") != "0"

  /// Whether Xcode has told the process about a test bundle that it is to load.
  static var namesTestBundle: Bool {
    value("XCTestConfigurationFilePath") != nil || value("XCTestBundlePath") != nil
  }

  private static func value(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
