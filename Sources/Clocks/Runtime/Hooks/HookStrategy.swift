import ClocksSupport
import Synchronization

/// The ways in which the hooks can be installed. Which of them work depends on what the runtime has, and never
/// on its version.
enum HookStrategy: String, CaseIterable, Sendable {
  /// Replaces the runtime's executors through an interface that needs the runtime's own module.
  case spi
  /// Replaces the runtime's executors through the function behind that interface, looked up by its name.
  case create
  /// Sets the runtime's hooks, and replaces the default executor where the runtime stores it.
  case scan
  /// Like `scan`, for runtimes without a hook for the main actor: replaces the methods of its executor.
  case table
  /// Sets the runtime's hooks for jobs and delays, and nothing else.
  case hook
  case none

  /// The strategy to try first. If it fails, the next best one is tried; the self-test measures the result.
  static var preferred: HookStrategy {
    if let strategy = Environment.hookStrategy.flatMap(Self.init(rawValue:)) { return strategy }
    #if os(Linux) && compiler(>=6.3)
      return .spi
    #else
      return .scan
    #endif
  }
}

extension RuntimeHooks {
  /// Installs the hooks if they are not installed yet, and tests what passes through them. Thread-safe.
  ///
  /// They are never removed.
  @inline(__always)
  static func install() { _ = selfTest }

  /// Installs the hooks, and runs no self-test, because there may be no task yet. Thread-safe.
  static func installAtLoad() { _ = installed }

  private static let installed: HookStrategy = {
    ThreadContext.prepare()
    RuntimeFunctions.prepare()
    let strategy = install(by: HookStrategy.preferred)
    TaskStatus.prepare()
    if strategy != .none && strategy != .hook {
      JobRuns.redirect()
      TaskCreation.redirect()
      DispatchCalls.redirect()
    }
    return strategy
  }()

  static let selfTest: SchedulingSelfTest = {
    let selfTest = SchedulingSelfTest(installed)
    isTested.store(true, ordering: .releasing)
    return selfTest
  }()

  /// The self-test, if it has run already.
  static var knownSelfTest: SchedulingSelfTest? {
    isTested.load(ordering: .acquiring) ? selfTest : nil
  }

  private static let isTested = Atomic(false)

  /// Installs the hooks by a strategy or the next best one, and returns the one that worked.
  private static func install(by preferred: HookStrategy) -> HookStrategy {
    guard preferred != .none else { return .none }
    PriorExecutors.remember()
    #if os(Linux) && compiler(>=6.3)
      if preferred == .spi {
        replaceExecutors()
        // Never called, because our executor can sleep. They are a sign for other libraries.
        setDelayHooks()
        return .spi
      }
    #endif
    guard setHooks() else { return .none }
    guard preferred != .hook else { return .hook }
    if preferred == .create, createExecutors() { return .create }
    let isMainHooked = preferred != .table && setMainHooks()
    let isMainReplaced = !isMainHooked && replaceMainMethods()
    let isPoolReplaced = replaceDefaultExecutor()
    if isMainReplaced { return .table }
    if isPoolReplaced { return .scan }
    return createExecutors() ? .create : .hook
  }
}
