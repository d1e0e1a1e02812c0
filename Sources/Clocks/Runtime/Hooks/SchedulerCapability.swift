/// How much of a test a test clock can see in this process.
///
/// It depends on what the Swift runtime lets a package see. ``current`` is the capability of this process,
/// and ``selfTest`` tells how it was measured.
public enum SchedulerCapability: Int, Sendable, Comparable, CaseIterable {
  /// Nothing is seen: sleeps wake in order, but `advance` returns without waiting for their effects.
  case patience = 0
  /// Jobs of the default executor are seen, but not everything: ``missing`` lists what is not.
  ///
  /// The guarantees hold for tests that do not use what is missing.
  case enqueueHook = 1
  /// Every job of the default executor and of the main actor is seen: all guarantees hold.
  case executors = 2

  /// Returns whether the left capability is lower. O(1).
  public static func < (lhs: SchedulerCapability, rhs: SchedulerCapability) -> Bool {
    lhs.rawValue < rhs.rawValue
  }

  /// The capability of this process, as it was measured.
  ///
  /// The first use installs the hooks, as creating a first clock does. O(1).
  public static var current: SchedulerCapability { selfTest.capability }

  /// Descriptions of the parts of a test that cannot be seen in this process; empty if everything is seen.
  ///
  /// Outside Linux, the runtime's clocks and dates are real in a scope, and neither the creation of tasks nor jobs of
  /// custom executors are seen. That is not listed. The first use installs the hooks, as ``current`` does. O(1).
  public static var missing: [String] { selfTest.missing }

  /// The self-test of this process: it runs before the first clock or scope is made.
  ///
  /// It runs again if other code set the runtime's hook for jobs before a later clock or scope is made. The first use
  /// installs the hooks, as ``current`` does. O(1).
  public static var selfTest: SchedulingSelfTest { RuntimeHooks.selfTest }
}

@available(*, deprecated, renamed: "SchedulerCapability")
public typealias SchedulingRung = SchedulerCapability

/// The parts of a test that pass through the hooks in this process, measured with a job of each kind.
///
/// ``SchedulerCapability/selfTest`` is the self-test of this process.
public struct SchedulingSelfTest: Hashable, Sendable, CustomStringConvertible {
  /// The strategy by which the hooks were installed: a value of the environment variable `CLOCKS_DOOR`.
  public let strategy: String
  /// Whether jobs of tasks on the default executor are seen.
  public let seesTasks: Bool
  /// Whether jobs on the main actor are seen.
  public let seesMainActor: Bool
  /// Whether `Task.yield` is seen.
  public let seesYields: Bool
  /// Whether sleeps on the runtime's own clocks are seen, so that a scope can run them in virtual time.
  public let seesSleeps: Bool
  /// Whether blocks on dispatch queues, and their delays, are seen. The capability does not depend on it.
  public let seesDispatch: Bool

  /// Descriptions of the parts that are not seen because a symbol, a bit or an offset is not where it should be.
  let unverified: [String]
  /// Descriptions of the files of the process that the kernel does not show. Only reports and clocks-everywhere need
  /// them.
  let hiddenFiles: [String]
  /// A description of the image whose copy of this module has the hooks instead of this copy; `nil` if there is none.
  let otherCopy: String?

  /// The capability that follows from what is seen.
  public var capability: SchedulerCapability {
    guard seesTasks else { return .patience }
    return missingJobs.isEmpty ? .executors : .enqueueHook
  }

  /// Descriptions of the parts that are not seen; empty if everything is seen. ``SchedulerCapability/missing`` has
  /// exceptions.
  public var missing: [String] {
    missingJobs + unverified + hiddenFiles + (seesDispatch ? [] : Self.dispatch)
  }

  static let dispatch = ["work on dispatch queues"]

  private var missingJobs: [String] {
    unseen(
      (seesTasks, "tasks"), (seesMainActor, "the main actor"), (seesYields, "Task.yield"),
      (seesSleeps, "un-injected sleeps"))
  }

  /// The capability, the hook strategy and what is not seen, in one line.
  public var description: String {
    let found =
      missing.isEmpty ? "everything is seen" : "not seen: \(missing.joined(separator: ", "))"
    let owner = otherCopy.map { ", but by another copy of Clocks, in \($0)" } ?? ""
    return "capability \(capability), hook strategy \(strategy), \(found)\(owner)"
  }

  @available(*, deprecated, renamed: "capability")
  public var rung: SchedulerCapability { capability }

  @available(*, deprecated, renamed: "strategy")
  public var door: String { strategy }
}

extension SchedulingSelfTest {
  /// Captures a job of each kind and runs it on this thread, so the self-test waits for no other thread.
  ///
  /// Some milliseconds, because it reads files of `/proc`, and the symbols of XCTest.
  init(_ strategy: HookStrategy) {
    self.strategy = strategy.rawValue
    otherCopy = OtherCopy.place
    // If another copy of this module has the hooks, the calls are redirected to that copy.
    seesDispatch = DispatchCalls.areSeen && otherCopy == nil
    #if os(Linux)
      hiddenFiles = ProcFileSystem.missing
    #else
      hiddenFiles = []
    #endif
    guard strategy != .none else {
      // No hooks are installed, so nothing is seen. No job is created to test that, because a sleep would trap in a
      // program whose own default executor cannot delay jobs.
      (seesTasks, seesMainActor, seesYields, seesSleeps) = (false, false, false, false)
      unverified = StatusProbe.here.missing + TestLibraries.missing
      return
    }
    let task = ThreadContext.capturingNextJob { Task.detached {} }
    seesTasks = task != nil
    task.map(ThreadContext.runToEnd)

    nonisolated(unsafe) var seesActor = false
    // Swift 6.2 lets no isolated closure assign to the variable.
    let readActor: @Sendable () -> Void = {
      if strategy != .hook { seesActor = CurrentActor.type == MainActor.self }
    }
    let main = ThreadContext.capturingNextJob {
      Task.detached { @MainActor @Sendable in readActor() }
    }
    seesMainActor = main != nil
    // The job does nothing that needs the main thread, so it may run on this thread.
    main.map { RuntimeHooks.run($0, on: .main) }

    seesYields = Self.seesSuspension { await Task.yield() }
    seesSleeps =
      Self.seesSuspension { try? await Task.sleep(nanoseconds: 1) }
      && Self.seesSuspension { try? await Task.sleep(for: .nanoseconds(1)) }
      && Self.seesSuspension { try? await SuspendingClock().sleep(for: .nanoseconds(1)) }
    var unverified = StatusProbe.here.missing
    // The strategy `hook` redirects no calls. The jobs that it does not see are already in `missingJobs`.
    if strategy != .hook {
      #if os(Linux) && canImport(Glibc)
        unverified += unseen(
          (TaskCreation.isSeen, "the creation of tasks"),
          (TaskCreation.seesTestCases, "which tasks run test cases"),
          (TaskCreation.seesAsyncLets, "the creation of async let tasks"),
          (!TaskCreation.isSeen || TaskOption.areReadable, "on which executor a task begins"),
          (JobRuns.areSeen, "jobs of custom executors"),
          (IsolatedDeinits.areSeen, "isolated deinits"))
        unverified += ClosureRetainBalance.missing + OutsideWork.missing
        unverified += unseen((!seesMainActor || seesActor, "on which actor a task runs"))
      #endif
      unverified += RuntimeClocks.missing
    }
    self.unverified = unverified + TestLibraries.missing
  }

  /// Returns whether the job that ends a suspension reaches the hooks.
  private static func seesSuspension(_ body: @escaping @Sendable () async -> Void) -> Bool {
    guard let task = ThreadContext.capturingNextJob({ Task.detached(operation: body) }),
      let end = ThreadContext.capturingNextJob({ RuntimeHooks.run(task, on: .pool) })
    else { return false }
    ThreadContext.runToEnd(end)
    return true
  }
}

/// Returns the names of the parts that are not seen.
func unseen(_ parts: (isSeen: Bool, name: String)...) -> [String] {
  parts.filter { !$0.isSeen }.map(\.name)
}
