import Synchronization

extension RuntimeHooks {
  /// Opens the door, if it is not open yet, and finds out what passes through it; it is never closed.
  /// Thread-safe.
  @inline(__always)
  static func open() { _ = selfTest }

  /// Opens the door and does nothing else, for there may be no task yet. Thread-safe.
  static func installAtLoad() { _ = way }

  /// The way in which the door was opened.
  private static let way: HookStrategy = {
    ThreadContext.prepare()
    RuntimeFunctions.prepare()
    let way = open(HookStrategy.wanted)
    TaskStatus.prepare()
    if way != .none && way != .hook {
      JobRuns.redirect()
      TaskCreation.redirect()
      DispatchCalls.redirect()
    }
    return way
  }()

  /// What passes through the door. Thread-safe.
  static let selfTest: SchedulingSelfTest = {
    let selfTest = SchedulingSelfTest(way)
    isTested.store(true, ordering: .releasing)
    return selfTest
  }()

  /// The same, if it has been tried out already.
  static var knownSelfTest: SchedulingSelfTest? {
    isTested.load(ordering: .acquiring) ? selfTest : nil
  }

  private static let isTested = Atomic(false)

  /// Opens the door as well as it can be opened, and says in which way.
  static func open(_ wanted: HookStrategy) -> HookStrategy {
    guard wanted != .none else { return .none }
    PriorExecutors.remember()
    #if os(Linux) && compiler(>=6.3)
      if wanted == .spi {
        replaceExecutors()
        // Nobody asks them: our executor can sleep. They are a sign.
        setDelayHooks()
        return .spi
      }
    #endif
    guard setHooks() else { return .none }
    guard wanted != .hook else { return .hook }
    if wanted == .create, createExecutors() { return .create }
    let isMainHooked = wanted != .table && setMainHooks()
    let isMainReplaced = !isMainHooked && replaceMainMethods()
    let isPoolReplaced = replaceDefaultExecutor()
    if isMainReplaced { return .table }
    if isPoolReplaced { return .scan }
    return createExecutors() ? .create : .hook
  }
}

extension SchedulerCapability {
  /// The rung on which this process stands, as it was measured. Asking opens the way to it, as
  /// making a first clock does. O(1).
  public static var current: SchedulerCapability { selfTest.rung }

  /// What of a test cannot be seen in this process, in words; empty on the highest rung. Asking opens
  /// the way, as ``current`` does. O(1).
  public static var missing: [String] { selfTest.missing }

  /// What was measured when the way was opened; asking opens it, as ``current`` does. O(1).
  public static var selfTest: SchedulingSelfTest { RuntimeHooks.selfTest }
}
