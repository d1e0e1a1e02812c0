import ClocksSupport
import Synchronization

/// Which tasks belong to which test case of Swift Testing, as long as they are nobody's.
///
/// What a test case starts before it makes its first clock, or first touches one that was made outside it (as
/// an argument of a test, by a task that helps, in a `static let`), is nobody's until then. It is remembered
/// here, so that the clock's owner can *adopt* the test case then: from then on all of its tasks are the
/// owner's.
enum TestCaseMembership {
  /// A task that is nobody's yet.
  private struct Member: TaskTableEntry {
    static var none: Self { Self(testCase: 0, task: nil) }
    /// The task of its test case, which may be the member itself.
    var testCase: UInt64
    var task: RetainedTask?
    var isNone: Bool { task == nil }
  }

  private struct Yield {
    var task: UInt64
    /// An address may be that of another job later.
    var number: Int
  }

  /// Guards what follows. Owners' locks, and that of the register of owners, are taken under it.
  private static let lock = Lock(.testCaseMembership)
  /// Tasks that the test library has made: test cases run in them.
  @exclusivity(unchecked) nonisolated(unsafe) private static var testCases = TaskSet()
  @exclusivity(unchecked) nonisolated(unsafe) private static var members = TaskTable<Member>()
  /// The members that have yielded, by the jobs that will resume them.
  @exclusivity(unchecked) nonisolated(unsafe) private static var yields: [UInt: Yield] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private static var nextYield = 0
  /// How many members there may be before those are dropped that are over.
  @exclusivity(unchecked) nonisolated(unsafe) private static var limit = 256
  private static let on = Atomic(false)

  /// Whether members are remembered: as soon as there is a test case.
  @inline(__always)
  static var isOn: Bool { on.load(ordering: .relaxed) }

  // MARK: - Test cases

  /// Learns that the test library has made a task; it is in memory now. Expected O(1).
  static func noteTestCase(_ task: UnownedJob) {
    let id = taskID(of: task)
    let over = lock.withLock {
      testCases.insert(id)
      on.store(true, ordering: .relaxed)
      return insert(task, of: id)
    }
    withExtendedLifetime(over) {}
  }

  /// Whether the test library has made a task. Expected O(1).
  static func isTestCase(_ id: UInt64) -> Bool { lock.withLock { testCases.contains(id) } }

  /// The test case to which a task belongs, as far as that is known.
  private static func testCase(of id: UInt64) -> UInt64? {
    let member = members[id]
    return member.isNone ? testCases.contains(id) ? id : nil : member.testCase
  }

  // MARK: - Members

  /// Learns that the current task, which was nobody's, has made a task; it is in memory now.
  ///
  /// - Returns: The owner that has adopted its maker meanwhile, and owns it from now on.
  static func hasMade(_ task: UnownedJob) -> TaskOwner? {
    // One that is older has been resumed.
    guard let maker = UnownedTask.currentID, taskID(of: task) > maker else { return nil }
    let (owner, over): (TaskOwner?, [RetainedTask]) = lock.withLock {
      // A test case is its own, whoever has made it.
      guard !testCases.contains(taskID(of: task)) else { return (nil, []) }
      if let owner = TaskOwnership.shared.knownOwner(of: maker) {
        return (TaskOwnership.shared.claim(taskID(of: task), for: owner) ? owner : nil, [])
      }
      return (nil, testCase(of: maker).map { insert(task, of: $0) } ?? [])
    }
    withExtendedLifetime(over) {}
    return owner
  }

  /// Returns what is not needed any more, to be let go of without a lock.
  private static func insert(_ task: UnownedJob, of testCase: UInt64) -> [RetainedTask] {
    guard let handle = UnownedTask(job: task).retainedIfReadable else { return [] }
    members.set(handle.id, to: Member(testCase: testCase, task: handle))
    return members.count > limit ? removeEnded() : []
  }

  /// Lets go of a member whose job has ended here, if it is over. Expected O(1).
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

  /// Makes all tasks of the test case an owner's to which a task of the owner's belongs, unless the test
  /// case is another owner's. Whoever else of its tasks touches the clock meanwhile waits until that is
  /// done. O(members), once a test case.
  ///
  /// - Parameter take: Called for each task, in the order in which they were made; returns what is not
  ///   needed any more, to be let go of without a lock.
  static func adopt(_ id: UInt64, by owner: TaskOwner, _ take: (Adopted) -> [WatchedTask]) {
    var over: [WatchedTask] = []
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

  /// A task that goes over to an owner.
  struct Adopted {
    var task: RetainedTask
    /// Whether it is the one in which its test case runs.
    var isTestCase: Bool
    /// Whether a job that is no task's will resume it, of which the owner learns when it has run.
    var hasYielded: Bool
  }

  // MARK: - Yields

  /// Learns that the current task, which was nobody's, has made a job that is no task's: it has yielded,
  /// and the job will resume it; or it is an actor's queue, which may do so. Returns the owner that has
  /// adopted it meanwhile.
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

  /// Forgets such a job, because nobody will learn when it has run.
  static func forgetYield(_ job: UnownedJob) {
    if isOn { lock.withLock { yields[unsafeBitCast(job, to: UInt.self)] = nil } }
  }

  /// What is to be called when such a job has run; to be asked for before.
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

  /// The owner that has adopted a task since its job was handed to a thread that is nobody's.
  @inline(__always)
  static func adopter(of id: UInt64) -> TaskOwner? {
    isOn && id != 0 ? TaskOwnership.shared.knownOwner(of: id) : nil
  }

  /// The number of members; for tests.
  static var count: Int { lock.withLock { members.count } }
}
