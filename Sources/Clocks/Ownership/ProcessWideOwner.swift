/// The owner of clocks made where no test is known, such as the properties of an `XCTestCase`.
///
/// It is dormant until a task uses one of its clocks, so that it leaves other tests alone. While awake it
/// owns every task that has no other owner: unowned jobs that run when it wakes become externally started
/// jobs, so that it knows when they end. It is dormant again when all tasks that used its clocks are over.
struct ProcessWideOwner {
  let owner: TaskOwner
  /// The number of running unowned jobs.
  var unownedJobs = 0
  /// The number of those that the owner waits for.
  private var externallyStartedJobs = 0
  /// Tasks that have used a clock, and whether they are over.
  private var users: [User] = []

  typealias User = (task: UInt64, isOver: @Sendable () -> Bool)

  /// The largest number of users kept. If all of them are over while the test goes on, its next use of a
  /// clock wakes the owner again.
  private static let mostUsers = 8

  init(owner: TaskOwner) { self.owner = owner }

  /// The owner, if it is awake. O(1).
  var ownerIfAwake: TaskOwner? { users.contains { !$0.isOver() } ? owner : nil }

  /// Wakes the owner for one more task. Returns how many jobs it waits for in addition.
  ///
  /// - Parameter outdated: Receives users that are over, to be freed without the lock.
  mutating func wake(_ user: User, _ outdated: inout [User]) -> Int {
    if users.contains(where: { $0.task == user.task }) { return 0 }
    let isAwake = ownerIfAwake != nil
    outdated = users.filter { $0.isOver() }
    users.removeAll { $0.isOver() }
    if users.count < Self.mostUsers { users.append(user) }
    guard !isAwake else { return 0 }
    defer { externallyStartedJobs = unownedJobs }
    return unownedJobs - externallyStartedJobs
  }

  /// Counts an unowned job that has run. Returns the owner if it waited for the job.
  mutating func unownedJobHasRun() -> TaskOwner? {
    unownedJobs -= 1
    guard externallyStartedJobs > unownedJobs else { return nil }
    externallyStartedJobs -= 1
    return owner
  }
}
