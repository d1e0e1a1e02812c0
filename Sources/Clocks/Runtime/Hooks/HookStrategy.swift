import ClocksSupport
import Synchronization

/// The ways in which the hooks can be installed. Which of them work depends on what the runtime exports, never
/// on its version.
enum HookStrategy: String, CaseIterable, Sendable {
  /// Replaces the runtime's executors through an interface that needs the runtime's own module.
  case spi
  /// Sets the runtime's hooks, and replaces the default executor where the runtime stores it.
  case scan
  /// Like `scan`, for runtimes without a hook for the main actor: replaces the methods of its executor.
  case table
  /// Sets the runtime's hooks for jobs and delays, and nothing else.
  case hook
  case none

  /// The strategy to try first. If it fails, the next best one is tried. The self-test measures the result.
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
  /// The hooks are never removed. Tests again if other code set the hook for jobs since the last self-test.
  @_transparent
  static func install() {
    _ = firstSelfTest
    if JobHook.hasChanged { testAgain() }
  }

  /// Installs the hooks. Called at load, when the self-test cannot run, because there may be no task yet.
  static func installAtLoad() {
    isAtLoad = true
    _ = installed
    isAtLoad = false
  }

  /// Whether `PatchedDefaultExecutor` is only preferred by tasks, and is not the default executor.
  ///
  /// Written when the hooks are installed.
  nonisolated(unsafe) private(set) static var isOnlyPreferred = false

  /// Whether the hooks are being installed at load. Only the thread that runs initializers writes this.
  nonisolated(unsafe) private static var isAtLoad = false

  private static let installed: HookStrategy = {
    UsageFailure.reportToTests()
    ThreadState.prepare()
    RuntimeFunctions.prepare()
    NondeterminismHooks.prepare()
    let strategy = OtherCopy.keepsHooks(isAtLoad) ? .none : install(by: HookStrategy.preferred)
    JobHook.wasInstalled()
    TaskStatus.prepare()
    if strategy != .none && strategy != .hook {
      TaskCreation.redirect()
      #if os(Linux) && canImport(Glibc)
        TaskOption.learn()
      #endif
      DispatchCalls.redirect()
    }
    return strategy
  }()

  static var selfTest: SchedulingSelfTest {
    install()
    return knownSelfTest ?? firstSelfTest
  }

  private static let firstSelfTest: SchedulingSelfTest = {
    let strategy = installed
    JobHook.remember(JobHook.now)
    let selfTest = SchedulingSelfTest(strategy)
    selfTestLock.withLock { latestSelfTest = selfTest }
    selfTest.warnOfWhatIsMissing()
    return selfTest
  }()

  /// Runs the self-test again. Holds no lock meanwhile, because the test's jobs pass through the other code's hook.
  ///
  /// The hook counts as tested only when the result is stored: while thread A tests, thread B must not read the result
  /// for the previous hook. So both threads test, and one of them warns.
  @inline(never)
  private static func testAgain() {
    let hook = JobHook.now
    let selfTest = SchedulingSelfTest(installed)
    let isFirst = selfTestLock.withLock {
      guard JobHook.hasChanged else { return false }
      latestSelfTest = selfTest
      JobHook.remember(hook)
      return true
    }
    if isFirst { selfTest.warnOfWhatIsMissing() }
  }

  private static let selfTestLock = Lock(.leaf)
  /// Guarded by `selfTestLock`.
  nonisolated(unsafe) private static var latestSelfTest: SchedulingSelfTest?

  /// The self-test, if it has run already.
  static var knownSelfTest: SchedulingSelfTest? { selfTestLock.withLock { latestSelfTest } }

  /// The failure text of tests that use a clock of this copy, if another copy of this module has the hooks.
  static var failureOfOtherCopy: String? { firstSelfTest.otherCopy.map(OtherCopy.failure) }

  /// Installs the hooks by a strategy or the next best one, and returns the one that worked.
  private static func install(by preferred: HookStrategy) -> HookStrategy {
    guard preferred != .none else { return .none }
    PriorExecutors.remember()
    #if os(Linux) && compiler(>=6.3)
      if preferred == .spi {
        replaceExecutors()
        // The runtime never calls these hooks, because our executor can sleep. But other libraries read them.
        setDelayHooks()
        isOnlyPreferred = true
        return .spi
      }
    #endif
    guard setHooks() else { return .none }
    guard preferred != .hook else { return .hook }
    let isMainHooked = preferred != .table && setMainHooks()
    let isMainReplaced = !isMainHooked && replaceMainMethods()
    let isPoolReplaced = replaceDefaultExecutor()
    return isMainReplaced ? .table : isPoolReplaced ? .scan : .hook
  }
}

/// The hook for jobs on the default executor, which other code, such as an event loop, may set after this package.
enum JobHook {
  nonisolated(unsafe) private static let slot = RuntimeHooks.slot("enqueueGlobal", of: UInt.self)
  /// The hook after this package's were installed.
  private static let installed = Atomic<UInt>(0)

  static func wasInstalled() { installed.store(now, ordering: .releasing) }

  /// The hook if other code set it; else `nil`.
  static var ofOtherCode: RuntimeHooks.EnqueueHook? {
    let hook = now
    guard hook != 0, hook != installed.load(ordering: .acquiring) else { return nil }
    return unsafeBitCast(UnsafeRawPointer(bitPattern: hook), to: RuntimeHooks.EnqueueHook?.self)
  }

  /// The hook at the last self-test.
  private static let known = Atomic<UInt>(0)

  static var now: UInt { slot?.pointee ?? 0 }

  fileprivate static func remember(_ hook: UInt) { known.store(hook, ordering: .releasing) }

  /// Whether the hook has changed since the last self-test.
  fileprivate static var hasChanged: Bool { now != known.load(ordering: .acquiring) }
}
