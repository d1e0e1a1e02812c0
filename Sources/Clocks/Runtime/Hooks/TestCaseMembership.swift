import ClocksSupport
import Synchronization

/// The unowned tasks of each test case of Swift Testing.
///
/// A test case has no owner until it makes its first clock, or uses one made outside of it. The tasks that it
/// starts before then are kept here, so that the clock's owner can *adopt* the whole test case.
enum TestCaseMembership {
  private struct Member: TaskTableEntry {
    static var none: Self { Self(testCase: 0, task: nil) }
    /// The task that runs the test case, which may be the member itself.
    var testCase: UInt64
    var task: RetainedTask?
    var isNone: Bool { task == nil }
  }

  private struct Yield {
    var task: UInt64
    /// Distinguishes two jobs of which the second was allocated at the address of the first.
    var number: Int
  }

  /// Guards everything below. Rank `testCaseMembership`: schedulers' locks and that of `TaskOwnership` are
  /// taken under it.
  private static let lock = Lock(.testCaseMembership)
  @exclusivity(unchecked) nonisolated(unsafe) private static var testCases = TaskSet()
  @exclusivity(unchecked) nonisolated(unsafe) private static var members = TaskTable<Member>()
  /// The members that have yielded, by the address of the job that will resume each.
  @exclusivity(unchecked) nonisolated(unsafe) private static var yields: [UInt: Yield] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private static var nextYield = 0
  @exclusivity(unchecked) nonisolated(unsafe) private static var limit = 256
  private static let on = Atomic(false)

  /// Whether a test case has begun in this process. Before that, no members are kept.
  @_transparent
  static var isOn: Bool { on.load(ordering: .relaxed) }

  static func noteTestCase(_ task: UnownedJob) {
    let id = taskID(of: task)
    let over = lock.withLock {
      testCases.insert(id)
      on.store(true, ordering: .relaxed)
      return insert(task, of: id)
    }
    withExtendedLifetime(over) {}
  }

  static func isTestCase(_ id: UInt64) -> Bool { lock.withLock { testCases.contains(id) } }

  /// The tasks that run test cases and that no owner has adopted. Some may be over.
  static var unowned: [RetainedTask] {
    lock.withLock { members.all.compactMap(\.task).filter { testCases.contains($0.id) } }
  }

  private static func testCase(of id: UInt64) -> UInt64? {
    let member = members[id]
    return member.isNone ? testCases.contains(id) ? id : nil : member.testCase
  }

  /// Adds a task that the current task has created.
  ///
  /// If an owner has adopted the current task meanwhile, registers the new task for that owner, and returns the owner.
  static func hasMade(_ task: UnownedJob) -> TaskOwner? {
    // If the task is older than the current one, the current one has not created it, but resumed it.
    guard let maker = UnownedTask.currentID, taskID(of: task) > maker else { return nil }
    let (owner, over): (TaskOwner?, [RetainedTask]) = lock.withLock {
      // The task that runs a test case does not belong to the test case of the task that created it.
      guard !testCases.contains(taskID(of: task)) else { return (nil, []) }
      if let owner = TaskOwnership.shared.knownOwner(of: maker) {
        return (TaskOwnership.shared.claim(taskID(of: task), for: owner) ? owner : nil, [])
      }
      return (nil, testCase(of: maker).map { insert(task, of: $0) } ?? [])
    }
    withExtendedLifetime(over) {}
    return owner
  }

  /// Inserts a member. Returns members that are over, which the caller releases without the lock.
  private static func insert(_ task: UnownedJob, of testCase: UInt64) -> [RetainedTask] {
    guard let handle = UnownedTask(job: task).retainedIfReadable else { return [] }
    members.set(handle.id, to: Member(testCase: testCase, task: handle))
    return members.count > limit ? removeEnded() : []
  }

  /// Removes a member if it is over. Called when a job of the member has ended. Expected O(1).
  static func letGo(ofEnded id: UInt64) {
    guard isOn else { return }
    let over: RetainedTask? = lock.withLock {
      guard let task = members[id].task, TaskStatus(of: task.job).isOver else { return nil }
      return members.remove(id).task
    }
    withExtendedLifetime(over) {}
  }

  private static func removeEnded() -> [RetainedTask] {
    let over = members.all.compactMap(\.task).filter { TaskStatus(of: $0.job).isOver }
    for task in over { members.remove(task.id) }
    limit = max(256, members.count * 2)
    return over
  }

  /// Transfers all tasks of a test case to an owner, unless the test case has another owner. O(members), once.
  ///
  /// If another task of the test case uses the clock meanwhile, that task's thread waits for the lock.
  ///
  /// - Parameters:
  ///   - id: The id of a task that belongs to `owner` already, and whose test case is transferred.
  ///   - take: Called for each task in order of creation, under the lock. Returns tasks to release without the lock.
  static func adopt(_ id: UInt64, by owner: TaskOwner, _ take: (Adopted) -> [RetainedTask]) {
    var over: [RetainedTask] = []
    let adopted: [RetainedTask] = lock.withLock {
      guard let testCase = testCase(of: id), TaskOwnership.shared.claim(testCase, for: owner) else {
        return []
      }
      let tasks = members.all.filter { $0.testCase == testCase }.compactMap(\.task)
        .sorted { $0.id < $1.id }
      for task in tasks {
        members.remove(task.id)
        guard TaskOwnership.shared.claim(task.id, for: owner) else { continue }
        over += take(
          Adopted(
            task: task, isTestCase: task.id == testCase,
            hasYielded: yields.values.contains { $0.task == task.id }))
      }
      return tasks
    }
    withExtendedLifetime((adopted, over)) {}
  }

  struct Adopted {
    var task: RetainedTask
    /// Whether the task runs the test case.
    var isTestCase: Bool
    /// Whether a job without a task will resume the task. The owner is notified when that job has run.
    var hasYielded: Bool
  }

  /// Notes that the current task has enqueued a job without a task. If the current task was adopted meanwhile,
  /// notes nothing and returns its owner.
  ///
  /// The job ends a `Task.yield` of the current task, or is an actor drain that may resume the task.
  static func hasYielded(_ job: UnownedJob) -> TaskOwner? {
    guard let task = UnownedTask.currentID else { return nil }
    return lock.withLock {
      if let owner = TaskOwnership.shared.knownOwner(of: task) { return owner }
      guard !members[task].isNone else { return nil }
      nextYield += 1
      yields[unsafeBitCast(job, to: UInt.self)] = Yield(task: task, number: nextYield)
      return nil
    }
  }

  /// Forgets a job that `hasYielded` has noted, because the job's end will not be seen.
  static func forgetYield(_ job: UnownedJob) {
    if isOn { lock.withLock { yields[unsafeBitCast(job, to: UInt.self)] = nil } }
  }

  /// Called before a job runs. Returns a function to call after the job, if `hasYielded` has noted the job.
  static func endOfYield(_ job: UnownedJob) -> (() -> Void)? {
    guard isOn else { return nil }
    let address = unsafeBitCast(job, to: UInt.self)
    guard let yield = lock.withLock({ yields[address] }) else { return nil }
    return {
      let owner = lock.withLock {
        if yields[address]?.number == yield.number { yields[address] = nil }
        return TaskOwnership.shared.knownOwner(of: yield.task)
      }
      owner?.externalJobEnded(yield.task)
    }
  }

  /// The owner that has adopted a task since its job was handed to a thread as unowned.
  @_transparent
  static func adopter(of id: UInt64) -> TaskOwner? {
    isOn && id != 0 ? TaskOwnership.shared.knownOwner(of: id) : nil
  }

  static var count: Int { lock.withLock { members.count } }
}
