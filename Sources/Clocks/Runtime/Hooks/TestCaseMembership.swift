import ClocksSupport
import Synchronization

/// The unowned tasks of each test case of Swift Testing.
///
/// A test case has no owner until it makes its first clock, or uses one made outside of it. The tasks that it
/// starts before then are kept here, so that the clock's owner can *adopt* the whole test case.
enum TestCaseMembership {
  private struct Member: TaskTableEntry {
    static var none: Self { Self(testCase: 0, word: 0) }
    /// The task that runs the test case, which may be the member itself.
    var testCase: UInt64
    /// The retained task as a word, so that a copy of the entry retains nothing.
    var word: UInt
    /// The number of jobs without a task that will resume the member.
    var yields = 0

    @_transparent
    var isNone: Bool { word == 0 }

    var task: UnownedTask { UnownedTask(job: unsafeBitCast(word, to: UnownedJob.self)) }

    /// Takes over the reference of an entry that was removed.
    var takenOver: RetainedTask? { isNone ? nil : RetainedTask(takingOver: word) }
  }

  /// Guards everything below. Rank `testCaseMembership`: schedulers' locks and that of `TaskOwnership` are
  /// taken under it.
  private static let lock = Lock(.testCaseMembership)
  @exclusivity(unchecked) nonisolated(unsafe) private static var testCases = TaskSet()
  /// The oldest task that Swift Testing has created.
  @exclusivity(unchecked) nonisolated(unsafe) private static var oldest = UInt64.max
  @exclusivity(unchecked) nonisolated(unsafe) private static var members = TaskTable<Member>()
  @exclusivity(unchecked) nonisolated(unsafe) private static var limit = 256
  private static let on = Atomic(false)

  /// Whether a test case has begun in this process. Before that, no members are kept.
  @_transparent
  static var isOn: Bool { on.load(ordering: .relaxed) }

  static func noteTestCase(_ task: UnownedJob) {
    let id = taskID(of: task)
    let over = lock.withLock {
      testCases.insert(id)
      oldest = min(oldest, id)
      on.store(true, ordering: .relaxed)
      return insert(task, of: id)
    }
    withExtendedLifetime(over) {}
  }

  static func isTestCase(_ id: UInt64) -> Bool { lock.withLock { testCases.contains(id) } }

  /// Whether a task is older than all tasks that Swift Testing has created. Such a task belongs to no test: it starts
  /// them all.
  static func startsTests(_ id: UInt64) -> Bool { isOn && lock.withLock { id < oldest } }

  /// Whether a task is a kept member, or runs a test case. It may have an owner.
  static func isMember(_ id: UInt64) -> Bool { lock.withLock { testCase(of: id) != nil } }

  /// The tasks that run test cases and that no owner has adopted. Some may be over.
  static var unowned: [RetainedTask] {
    lock.withLock { members.all.map(\.task).filter { testCases.contains($0.id) }.map(\.handle) }
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
    let id = taskID(of: task)
    if let member = members.address(of: id), !member.pointee.isNone {
      member.pointee.testCase = testCase
      return []
    }
    guard let handle = UnownedTask(job: task).retainedIfReadable else { return [] }
    members.set(id, to: Member(testCase: testCase, word: handle.asWord))
    return members.count > limit ? removeEnded() : []
  }

  /// Removes a task that is over. Expected O(1).
  static func letGo(ofEnded id: UInt64) {
    let over: RetainedTask? = lock.withLock { members.remove(id).takenOver }
    withExtendedLifetime(over) {}
  }

  private static func removeEnded() -> [RetainedTask] {
    let over = members.all.map(\.task).filter { TaskStatus(of: $0.job).isOver }
    let removed = over.compactMap { members.remove($0.id).takenOver }
    limit = max(256, members.count * 2)
    return removed
  }

  /// Transfers all tasks of a test case to an owner, unless the test case has another owner. O(members), once.
  ///
  /// If another task of the test case uses the clock meanwhile, that task's thread waits for the lock.
  ///
  /// - Parameters:
  ///   - id: The id of a task that belongs to `owner` already, and whose test case is transferred.
  ///   - take: Called for each task in order of creation, under the lock. Returns tasks to release without the lock.
  ///   - isTestCase: Whether the task runs the test case.
  ///   - yields: The number of jobs without a task that will resume the task. The owner is notified when each has run.
  static func adopt(
    _ id: UInt64, by owner: TaskOwner,
    _ take: (RetainedTask, _ isTestCase: Bool, _ yields: Int) -> [RetainedTask]
  ) {
    var over: [RetainedTask] = []
    let adopted: [RetainedTask] = lock.withLock {
      guard let testCase = testCase(of: id), TaskOwnership.shared.claim(testCase, for: owner) else {
        return []
      }
      let adopted = members.all.filter { $0.testCase == testCase }
        .sorted { $0.task.id < $1.task.id }
      return adopted.compactMap { member in
        guard let task = members.remove(member.task.id).takenOver else { return nil }
        if TaskOwnership.shared.claim(task.id, for: owner) {
          over += take(task, task.id == testCase, member.yields)
        }
        return task
      }
    }
    withExtendedLifetime((adopted, over)) {}
  }

  /// Notes that the current task has enqueued a job without a task. If the current task was adopted meanwhile,
  /// notes nothing and returns its owner.
  ///
  /// The job ends a `Task.yield` of the current task, or is an actor drain that may resume the task.
  ///
  /// - Parameter yielder: Set to the task if that was noted. Then `yieldEnded` must follow.
  static func hasYielded(_ yielder: inout UInt64) -> TaskOwner? {
    guard let task = UnownedTask.currentID else { return nil }
    return lock.withLock {
      if let owner = TaskOwnership.shared.knownOwner(of: task) { return owner }
      guard let member = members.address(of: task), !member.pointee.isNone else { return nil }
      member.pointee.yields += 1
      yielder = task
      return nil
    }
  }

  /// Notes that a job has run that `hasYielded` has noted, or that its end will not be seen.
  static func yieldEnded(of task: UInt64) {
    let owner = lock.withLock {
      if let member = members.address(of: task), member.pointee.yields > 0 {
        member.pointee.yields -= 1
      }
      return TaskOwnership.shared.knownOwner(of: task)
    }
    owner?.externalJobEnded(task)
  }

  /// The owner that has adopted a task since its job was handed to a thread as unowned.
  @_transparent
  static func adopter(of id: UInt64) -> TaskOwner? {
    isOn && id != 0 ? TaskOwnership.shared.knownOwner(of: id) : nil
  }
}
