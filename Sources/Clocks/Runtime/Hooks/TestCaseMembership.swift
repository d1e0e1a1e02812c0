import ClocksSupport
import Synchronization

/// The unowned tasks of each test case of Swift Testing.
///
/// A test case has no owner until it makes its first clock, or uses one made outside of it. The tasks that it
/// starts before then are kept here, so that the clock's owner can *adopt* the whole test case. When its clocks are
/// gone, its leftovers are kept here for its next clock.
enum TestCaseMembership {
  private struct Member: TaskTableEntry {
    static var none: Self { Self(testCase: 0, word: 0) }
    /// The task that runs the test case, which may be the member itself.
    var testCase: UInt64
    /// The retained task as a word, so that a copy of the entry retains nothing.
    var word: UInt

    @_transparent
    var isNone: Bool { word == 0 }

    var task: UnownedTask { UnownedTask(job: unsafeBitCast(word, to: UnownedJob.self)) }
  }

  /// Guards everything below. Rank `testCaseMembership`: the locks of schedulers, `UnownedBlock`, `RunningJobs` and
  /// `TaskOwnership` are taken under it.
  private static let lock = Lock(.testCaseMembership)
  nonisolated(unsafe) private static var testCases = TaskSet()
  /// The oldest task that Swift Testing created.
  nonisolated(unsafe) private static var oldest = UInt64.max
  /// The newest task that Swift Testing created.
  nonisolated(unsafe) private static var newest: UInt64 = 0
  nonisolated(unsafe) private static var members = TaskTable<Member>()
  nonisolated(unsafe) private static var limit = 256
  /// Counts the drains in which a task has ended since all members were last checked.
  nonisolated(unsafe) private static var uncheckedDrains = 0
  private static let on = Atomic(false)

  /// Whether a test case has begun in this process. Before that, no members are kept.
  @_transparent
  static var isOn: Bool { on.load(ordering: .relaxed) }

  static func noteTestCase(_ task: UnownedJob) {
    let id = taskID(of: task)
    lock.withLock {
      testCases.insert(id)
      (oldest, newest) = (min(oldest, id), max(newest, id))
      on.store(true, ordering: .relaxed)
      insert(task, of: id)
    }
  }

  static func isTestCase(_ id: UInt64) -> Bool { lock.withLock { testCases.contains(id) } }

  /// Whether a task is older than all tasks that Swift Testing created. Such a task belongs to no test: it starts them
  /// all.
  static func startsTests(_ id: UInt64) -> Bool { isOn && lock.withLock { id < oldest } }

  /// Whether a task is a kept member, or runs a test case. It may have an owner.
  static func isMember(_ id: UInt64) -> Bool { lock.withLock { testCase(of: id) != nil } }

  /// The tasks that run test cases and that no owner has adopted. Some may be over.
  static var unowned: [RetainedTask] {
    lock.withLock { members.all.map(\.task).filter { testCases.contains($0.id) }.map(\.handle) }
  }

  private static func testCase(of id: UInt64) -> UInt64? {
    if let member = members.address(of: id), !member.pointee.isNone {
      return member.pointee.testCase
    }
    return testCases.contains(id) ? id : nil
  }

  /// Adds a task that the current task created.
  ///
  /// If an owner adopted the current task meanwhile, registers the new task for that owner, and returns the owner.
  ///
  /// - Parameters:
  ///   - isCertain: Whether the creation was seen. If not, the current task may have resumed a task of another test
  ///     case that is younger than itself. So a member stays in its test case.
  ///   - former: The owner for which the thread runs the current task, and whose last clock is gone. Another thread
  ///     may be about to take the current task back.
  static func hasMade(
    _ task: UnownedJob, isCertain: Bool = true, for former: TaskOwner? = nil
  ) -> TaskOwner? {
    guard isOn else { return nil }
    // A block has no current task. What it creates is younger than the task that runs the test case.
    let current = currentMaker ?? ofBlock
    // If the task is older than the current one, the current one did not create it, but resumed it.
    guard current != 0, taskID(of: task) > current else { return nil }
    let maker = awaitCreation(of: current)
    let known = former?.testCase ?? 0
    let (owner, isFull): (TaskOwner?, Bool) = lock.withLock {
      let id = taskID(of: task)
      guard !isTestCase(created: id), isCertain || members[id].isNone
      else { return (nil, false) }
      let testCase = testCase(of: maker) ?? (testCases.contains(known) ? known : nil)
      let ownership = TaskOwnership.shared
      if let owner = ownership.knownOwner(of: maker) ?? testCase.flatMap(ownership.knownOwner) {
        return (ownership.claim(id, for: owner) ? owner : nil, false)
      }
      if let testCase { insert(task, of: testCase) }
      return (nil, members.count > limit)
    }
    if isFull { removeEndedMembers(afterDrain: false) }
    return owner
  }

  /// If no owner exists, does what `hasMade` does. Otherwise returns `false`.
  ///
  /// Calls no closure, because each task is noted, and a debug build would call a generic function.
  static func noteMadeWithoutOwner(_ task: UnownedJob, isCertain: Bool = true) -> Bool {
    guard isOn, !TaskStatus(of: task).isOver else { return true }
    let current = UnownedTask.currentID ?? ofBlock
    if current == 0 { return true }
    let maker = awaitCreation(of: current)
    let id = taskID(of: task)
    lock.lock()
    // Under the lock, because an owner may have come meanwhile, and adopted the test case.
    let isWithoutOwner = TaskOwnership.shared.isEmpty
    if isWithoutOwner, id > maker, !isTestCase(created: id), isCertain || members[id].isNone {
      if let testCase = testCase(of: maker) {
        insert(task, of: testCase)
      } else if let maker = currentMaker, let testCase = testCase(of: maker) {
        insert(task, of: testCase)
      }
    }
    let isFull = members.count > limit
    lock.unlock()
    if isFull { removeEndedMembers(afterDrain: false) }
    return isWithoutOwner
  }

  /// Waits until the current task is a member, if another thread is creating it.
  ///
  /// Returns the task, or the task that creates it (`UnfinishedCreations.awaitTestCase`).
  @_transparent
  private static func awaitCreation(of id: UInt64) -> UInt64 {
    UnfinishedCreations.isAny && !isMember(id) ? UnfinishedCreations.awaitTestCase(of: id) : id
  }

  /// The test case of the block that the current thread runs; 0 if it runs none.
  private static var ofBlock: UInt64 {
    guard let thread = ThreadState.existing else { return 0 }
    if let block = thread.pointee.unownedBlock { return block.testCase }
    guard let context = thread.pointee.context, context.pointee.isOnQueue else { return 0 }
    return context.pointee.owner?.testCase ?? 0
  }

  /// The test case of the unowned job or block that the current thread runs; 0 if there is none.
  ///
  /// If an owner adopted the job's task after the job began, returns that owner.
  static var ofThread: (testCase: UInt64, owner: TaskOwner?) {
    guard isOn else { return (0, nil) }
    guard let current = currentMaker else { return (ofBlock, nil) }
    let maker = awaitCreation(of: current)
    return lock.withLock {
      if let testCase = testCase(of: maker) { return (testCase, nil) }
      return (0, TaskOwnership.shared.knownOwner(of: maker))
    }
  }

  /// The current task, or the task around it if it is an `async let`, which is not a member.
  private static var currentMaker: UInt64? {
    RuntimeFunctions.currentTask.map { taskID(of: TaskStatus.taskAroundAsyncLets($0)) }
  }

  /// The owner that adopted the parent of an unowned `async let`, which becomes the owner of both.
  static func adopter(ofAsyncLet task: UnownedJob) -> TaskOwner? {
    guard isOn, TaskStatus.isKnownToBeReadable, TaskStatus.isAsyncLet(task),
      let owner = TaskOwnership.shared.knownOwner(
        of: taskID(of: TaskStatus.taskAroundAsyncLets(task)))
    else { return nil }
    return TaskOwnership.shared.claim(taskID(of: task), for: owner) ? owner : nil
  }

  /// Whether a task that was just created runs a test case. It does not belong to the test case of the task that
  /// created it.
  @_transparent
  private static func isTestCase(created id: UInt64) -> Bool {
    // Nearly always a test creates tasks after the tasks of all test cases were created.
    id <= newest && testCases.contains(id)
  }

  /// - Parameter mayRun: Whether a task that is over is inserted, too, if its job still runs.
  private static func insert(_ task: UnownedJob, of testCase: UInt64, mayRun: Bool = false) {
    let id = taskID(of: task)
    if let member = members.address(of: id), !member.pointee.isNone {
      member.pointee.testCase = testCase
      return
    }
    // The current thread, A, created the task. Thread B may have run it to its end, and found no member to remove.
    guard
      !TaskStatus(of: task).isOver
        || mayRun && RunningJobs.lock.withLock({ RunningJobs.isAny(of: id) }),
      UnownedTask.retainIfReadable(task)
    else { return }
    members.set(id, to: Member(testCase: testCase, word: unsafeBitCast(task, to: UInt.self)))
  }

  /// Removes the tasks that are over, if there are many members, or after an actor drain in which a task has ended.
  ///
  /// The hooks do not show whether a task ended in a drain: a hop off the actor cannot be told apart from an end. So
  /// few members are checked for each drain, and the result of a task may be released a few drains later.
  ///
  /// Amortized O(1): if there are more than 8 members, only some drains are followed by a check of them all.
  static func removeEndedMembers(afterDrain: Bool) {
    guard isOn else { return }
    var over = ScratchBuffer<UInt>()
    lock.lock()
    uncheckedDrains += 1
    if !afterDrain || uncheckedDrains * 8 >= members.count {
      uncheckedDrains = 0
      RunningJobs.lock.lock()
      removeEnded(&over)
      RunningJobs.lock.unlock()
      limit = max(256, members.count * 2)
    }
    lock.unlock()
    // Released without the lock.
    for index in 0..<over.count { UnownedTask.release(over[index]) }
  }

  /// Removes the tasks that are over, and appends their words to `over`. Frees the memory of many former members.
  ///
  /// Requires `RunningJobs.lock`. Thread A, which ran a task to its end, may be about to resume another member that
  /// waits for it. Until A's job ends, the next owner has to know of both. Then A removes the task itself.
  ///
  /// O(n); times the number of threads for each task that is over.
  private static func removeEnded(_ over: inout ScratchBuffer<UInt>) {
    members.visitAll { member in
      if TaskStatus(of: member.task.job).isOver, !RunningJobs.isAny(of: member.task.id) {
        over.append(member.word)
      }
    }
    for index in 0..<over.count {
      members.remove(taskID(of: unsafeBitCast(over[index], to: UnownedJob.self)))
    }
    members.shrink()
  }

  /// Removes a task that is over, or that another test adopted. Expected O(1).
  static func removeMember(_ id: UInt64) {
    lock.lock()
    let word = members.remove(id).word
    lock.unlock()
    if word != 0 { UnownedTask.release(word) }
  }

  /// Runs a job of a custom executor. Removes its task if the task is over then.
  static func runJob(of task: UnownedJob, _ id: UInt64, _ body: () -> Void) {
    guard isOn, id != 0, UnownedTask.retainIfReadable(task) else { return body() }
    body()
    if TaskStatus(of: task).isOver { removeMember(id) }
    UnownedTask.release(task)
  }

  /// Transfers all tasks of a test case to an owner, unless the test case has another owner. O(members), once.
  ///
  /// If another task of the test case uses the clock meanwhile, that task's thread waits for the lock.
  ///
  /// - Parameters:
  ///   - id: The id of a task that belongs to `owner` already, and whose test case is transferred.
  ///   - take: Called for each task in order of creation, under the lock. Returns tasks to release without the lock.
  ///   - isTestCase: Whether the task runs the test case.
  /// - Returns: The task that runs the test case; `nil` if nothing was transferred.
  static func adopt(
    _ id: UInt64, by owner: TaskOwner,
    _ take: (RetainedTask, _ isTestCase: Bool) -> [RetainedTask]
  ) -> UInt64? {
    let id = awaitCreation(of: id)
    var over: [RetainedTask] = []
    var found: UInt64?
    let adopted: [RetainedTask] = lock.withLock {
      guard let testCase = testCase(of: id), TaskOwnership.shared.claim(testCase, for: owner) else {
        return []
      }
      found = testCase
      UnownedBlock.adoptAll(of: testCase, by: owner)
      let adopted = members.all.filter { $0.testCase == testCase }
        .sorted { $0.task.id < $1.task.id }
      return adopted.map { member in
        let task = RetainedTask(takingOver: members.remove(member.task.id).word)
        if TaskOwnership.shared.claim(task.id, for: owner) {
          over += take(task, task.id == testCase)
        }
        return task
      }
    }
    withExtendedLifetime((adopted, over)) {}
    return found
  }

  /// Adds tasks that outlive the clocks of a test case, so that its next clock adopts them.
  ///
  /// Adds nothing if no test case has that id. Leaves out tasks that the test's next clock has already adopted.
  ///
  /// - Parameter leave: Makes the tasks unowned, and returns them. Called under the lock: from then on, the tasks may
  ///   create others, for which `hasMade` has to find the test case.
  /// - Returns: The result of `leave`.
  static func takeBack(
    of testCase: UInt64, _ leave: () -> [RetainedTask]
  ) -> [RetainedTask] {
    guard isOn else { return leave() }
    return lock.withLock {
      let left = leave()
      guard !left.isEmpty, testCases.contains(testCase) else { return left }
      for task in left where TaskOwnership.shared.knownOwner(of: task.id) == nil {
        insert(task.job, of: testCase, mayRun: true)
      }
      return left
    }
  }

  /// The owner that adopted a task after its job was handed to a thread as unowned.
  @_transparent
  static func adopter(of id: UInt64) -> TaskOwner? {
    // Nearly always there is no owner.
    TaskOwnership.shared.isEmpty || id == 0 || !isOn
      ? nil : TaskOwnership.shared.knownOwner(of: id)
  }
}
