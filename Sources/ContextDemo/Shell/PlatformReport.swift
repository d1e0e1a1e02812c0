import Clocks
import Foundation

/// What a person tells us of a system on which the package was tried: `ContextDemo platform`.
struct PlatformReport: CustomStringConvertible {
  let system: String
  let compiler: String
  let selfTest: SchedulingSelfTest

  /// The report of this process. It installs the hooks.
  init() {
    let version = ProcessInfo.processInfo.operatingSystemVersionString
    system = "\(Self.systemName), \(version), \(Self.architecture)"
    compiler = Self.compilerName
    selfTest = SchedulerCapability.selfTest
  }

  var description: String {
    let rows = [
      ("system", system),
      ("built by", compiler),
      ("runtime", Self.runtimeName),
      ("strategy", selfTest.strategy),
      ("capability", "\(selfTest.capability) (\(selfTest.capability.rawValue) of 2)"),
      ("tasks", seen(selfTest.seesTasks)),
      ("main actor", seen(selfTest.seesMainActor)),
      ("Task.yield", seen(selfTest.seesYields)),
      ("sleeps", seen(selfTest.seesSleeps)),
      ("queues", seen(selfTest.seesDispatch)),
    ]
    return rows.map { $0.0.padded(to: 10, from: .trailing) + "  " + $0.1 }.joined(separator: "\n")
  }

  private func seen(_ isSeen: Bool) -> String { isSeen ? "seen" : "not seen" }

  private static var systemName: String {
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

  private static var compilerName: String {
    #if compiler(>=6.4)
      "Swift 6.4 or later"
    #elseif compiler(>=6.3)
      "Swift 6.3"
    #else
      "Swift 6.2"
    #endif
  }

  /// How old the runtime is in which this runs, by what it has: it may be another one than that of
  /// the compiler.
  private static var runtimeName: String {
    let signs = [
      ("swift_createExecutors", "6.3 or later"), ("swift_task_immediate", "6.2"),
      ("swift_task_getMainExecutor_hook", "6.1"), ("swift_task_checkIsolated_hook", "6.0"),
      ("swift_task_create", "5.10 or earlier"),
    ]
    return signs.first { has($0.0) }.map { "Swift \($0.1)" } ?? "its functions cannot be looked up"
  }

  private static func has(_ function: String) -> Bool {
    #if os(Windows) || os(WASI)
      return false
    #else
      return dlsym(dlopen(nil, RTLD_NOW), function) != nil
    #endif
  }
}
