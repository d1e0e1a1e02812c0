import Clocks
import Foundation

/// The output of `ContextDemo platform`, which says what a test clock can observe on this system.
enum PlatformReport {
  /// Runs the self-test, which installs the runtime hooks, and returns the report.
  static func text() -> String {
    let selfTest = SchedulerCapability.selfTest
    let version = ProcessInfo.processInfo.operatingSystemVersionString
    let rows = [
      ("system", "\(system), \(version), \(architecture)"),
      ("built by", compiler),
      ("runtime", runtime),
      ("strategy", selfTest.strategy),
      ("capability", "\(selfTest.capability) (\(selfTest.capability.rawValue) of 2)"),
      ("tasks", seen(selfTest.seesTasks)),
      ("main actor", seen(selfTest.seesMainActor)),
      ("Task.yield", seen(selfTest.seesYields)),
      ("sleeps", seen(selfTest.seesSleeps)),
      ("queues", seen(selfTest.seesDispatch)),
      ("not seen", selfTest.missing.isEmpty ? "nothing" : selfTest.missing.joined(separator: ", ")),
    ]
    return rows.map { "\($0.0.padded(to: 10))  \($0.1)" }.joined(separator: "\n")
  }

  private static func seen(_ isSeen: Bool) -> String { isSeen ? "seen" : "not seen" }

  private static var system: String {
    #if os(macOS)
      "macOS"
    #elseif os(iOS)
      "iOS"
    #elseif os(Linux)
      "Linux"
    #elseif os(Android)
      "Android"
    #elseif os(Windows)
      "Windows"
    #else
      "another system"
    #endif
  }

  private static var architecture: String {
    #if arch(arm64)
      "arm64"
    #elseif arch(x86_64)
      "x86-64"
    #else
      "another processor"
    #endif
  }

  private static var compiler: String {
    #if compiler(>=6.4)
      "Swift 6.4 or later"
    #elseif compiler(>=6.3)
      "Swift 6.3"
    #else
      "Swift 6.2"
    #endif
  }

  /// The version of the Swift runtime, derived from its functions. It may differ from the compiler's version.
  private static var runtime: String {
    let versions = [
      ("swift_createExecutors", "6.3 or later"), ("swift_task_immediate", "6.2"),
      ("swift_task_getMainExecutor_hook", "6.1"), ("swift_task_checkIsolated_hook", "6.0"),
      ("swift_task_create", "5.10 or earlier"),
    ]
    return versions.first { RuntimeSymbol.address(of: $0.0) != nil }.map { "Swift \($0.1)" }
      ?? "unknown: its functions cannot be looked up"
  }
}
