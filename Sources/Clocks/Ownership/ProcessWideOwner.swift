/// The owner for clocks that were made outside any test's task where no test cases are known, as the
/// properties of an `XCTestCase` are: nobody can know which test they are for.
///
/// It sleeps until a task uses one of its clocks, and so leaves other tests alone. While it is awake, it
/// owns whatever is nobody else's: what was under way when it woke up becomes its visitors, so that it
/// knows when that has ended. It goes to sleep when the tasks are over that have used its clocks.
struct ProcessWideOwner {
  let owner: TaskOwner
  /// Counts the foreign jobs that are under way. They are counted while there is a process-wide owner.
  var unownedJobs = 0
  /// Counts those of them that the owner waits for, as for visitors.
  private var externallyStartedJobs = 0
  /// Some tasks that have used a clock, and whether they are over.
  private var users: [User] = []

  typealias User = (task: UInt64, isOver: @Sendable () -> Bool)

  /// How many users are remembered at most. If they all are over while the test goes on, its next use of
  /// a clock wakes the owner again.
  private static let mostUsers = 8

  init(owner: TaskOwner) { self.owner = owner }

  /// The owner, if it is awake. O(1).
  var ownerIfAwake: TaskOwner? { users.contains { !$0.isOver() } ? owner : nil }

  /// Wakes the owner for one more task; returns the number of new visitors.
  ///
  /// - Parameter outdated: Gets what is not needed any more, to be freed without a lock.
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

  /// Notes that a foreign job has run; returns the owner, if it waited for it.
  mutating func unownedJobHasRun() -> TaskOwner? {
    unownedJobs -= 1
    guard externallyStartedJobs > unownedJobs else { return nil }
    externallyStartedJobs -= 1
    return owner
  }
}
