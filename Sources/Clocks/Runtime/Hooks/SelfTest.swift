/// What of a test passes through the door to the Swift runtime, as it was found out in this process:
/// a job of each kind was sent through.
///
/// ``SchedulerCapability/selfTest`` is the one of this process.
public struct SchedulingSelfTest: Hashable, Sendable, CustomStringConvertible {
  /// The way in which the door was opened: one of the words that the environment variable
  /// `CLOCKS_DOOR` takes.
  public let door: String
  /// Whether tasks are seen: jobs on the default executor.
  public let seesTasks: Bool
  /// Whether jobs on the main actor are seen.
  public let seesMainActor: Bool
  /// Whether `Task.yield` is seen.
  public let seesYields: Bool
  /// Whether sleeps on the runtime's own clocks are seen, so that a scope of virtual time can take
  /// them over.
  public let seesSleeps: Bool

  /// Whether work on queues of Dispatch's is seen, and its delays; it has no influence on the rung.
  public let seesDispatch: Bool

  /// What is not seen because a bit of the runtime's tasks is not where it should be, in words.
  let unverified: [String]

  /// The rung that follows from it.
  public var rung: SchedulerCapability {
    guard seesTasks else { return .patience }
    return missingJobs.isEmpty ? .executors : .enqueueHook
  }

  /// What is not seen, in words; empty if everything is.
  public var missing: [String] {
    missingJobs + unverified + (seesDispatch ? [] : ["work on dispatch queues"])
  }

  /// What of tasks is not seen.
  private var missingJobs: [String] {
    var missing: [String] = []
    if !seesTasks { missing.append("tasks") }
    if !seesMainActor { missing.append("the main actor") }
    if !seesYields { missing.append("Task.yield") }
    if !seesSleeps { missing.append("sleeps on clocks that nobody injected") }
    return missing
  }

  /// The rung, the door and what is missing, in one line.
  public var description: String {
    let found =
      missing.isEmpty ? "everything is seen" : "not seen: \(missing.joined(separator: ", "))"
    return "rung \(rung), door \(door), \(found)"
  }
}

extension SchedulingSelfTest {
  /// Sends the jobs through. Each of them is kept back at the door and then run here, so that nobody
  /// waits for anything. O(1), some microseconds.
  init(_ door: HookStrategy) {
    self.door = door.rawValue
    seesDispatch = DispatchCalls.areSeen
    unverified = StatusProbe.here.missing
    let task = ThreadContext.capturingNextJob { Task.detached {} }
    seesTasks = task != nil
    task.map(ThreadContext.runToEnd)

    let main = ThreadContext.capturingNextJob { Task.detached { @MainActor @Sendable in } }
    seesMainActor = main != nil
    // The job does nothing that would have to be done on the main thread.
    main.map { RuntimeHooks.run($0, on: .main) }

    seesYields = Self.seesSuspension { await Task.yield() }
    seesSleeps =
      Self.seesSuspension { try? await Task.sleep(nanoseconds: 1) }
      && Self.seesSuspension { try? await Task.sleep(for: .nanoseconds(1)) }
      && Self.seesSuspension { try? await SuspendingClock().sleep(for: .nanoseconds(1)) }
  }

  /// Whether the job comes to the door that ends the suspension of a task.
  private static func seesSuspension(_ body: @escaping @Sendable () async -> Void) -> Bool {
    guard let task = ThreadContext.capturingNextJob({ Task.detached(operation: body) }) else {
      return false
    }
    guard let end = ThreadContext.capturingNextJob({ RuntimeHooks.run(task, on: .pool) }) else {
      return false
    }
    ThreadContext.runToEnd(end)
    return true
  }
}
