import ClocksSupport

/// Ends the process when only stuck tests are left: tests that were reported and do not end.
///
/// A test that merely takes long in real time must not be ended with the process. So two things must hold
/// for as long as it took to report the tests: each task that the test library awaits belongs to a
/// reported test, and no job begins in any of them.
enum StuckTests {
  /// The ids of the tasks that Swift Testing awaits, if it runs the tests, and the progress of each test.
  private typealias Situation = [UInt64]

  /// The situation in the last check, if only stuck tests were left, and since when it is unchanged. Used by the
  /// watchdog's timer only.
  nonisolated(unsafe) private static var found: (situation: Situation, since: ServedTime)?

  /// The tests whose reported work holds the main thread, even if they are over and have no clock any more. Used by the
  /// watchdog's timer only.
  nonisolated(unsafe) private static var holdersOfMain: [Scheduler] = []

  static func check(_ registered: [Scheduler], after limit: Duration) {
    let others = holdersOfMain.filter { holder in !registered.contains { $0 === holder } }
    let schedulers = registered + others
    holdersOfMain = schedulers.filter(\.holdsMain)
    let reported = schedulers.filter(\.isStuck)
    // A test waits for the scopes within it.
    let around = reported.flatMap { Array(sequence(first: $0) { $0.parent }) }
    let stuck = schedulers.filter { test in around.contains { $0 === test } }
    guard !stuck.isEmpty, let situation = situation(stuck, among: schedulers, limit) else {
      found = nil
      return
    }
    guard let found, found.situation == situation else {
      found = (situation, ServedTime())
      return
    }
    // The watchdog may be about to report a forgotten advance, which lets the test continue. Its limit may have begun
    // later.
    let limit = stuck.contains(where: \.mayForgetToAdvance) ? limit * 4 : limit
    guard found.since.lasts(limit), !Environment.keepsProcess, !isDebugged else { return }
    endProcess(stuck)
  }

  /// Returns the situation if only stuck tests are left; `nil` if another test may continue.
  private static func situation(
    _ stuck: [Scheduler], among schedulers: [Scheduler], _ limit: Duration
  ) -> Situation? {
    guard TestLibraries.isTestProcess else { return nil }
    let counts = stuck.map { $0.progress(after: limit) }
    // The process of an exit test runs one test. Its parent process receives the failures when it ends.
    if Environment.isExitTest { return counts + schedulers.map { $0.progress(after: limit) } }
    if TestCaseMembership.isOn { return awaitedTasks(ifAllAreOf: stuck).map { $0 + counts } }
    // XCTest runs one test at a time, so no other test may continue if the newest one is stuck.
    guard TestLibraries.isXCTestRunning, let current = XCTestFailures.newestTaskAtStart,
      stuck.contains(where: { $0.change { $0.stuckReport?.xcTest } == current })
    else { return nil }
    return counts + schedulers.map { $0.progress(after: limit) }
  }

  /// The tasks that Swift Testing awaits, directly or not; `nil` if one may belong to another test.
  ///
  /// Tasks may change while they are read, so one answer may be wrong. The caller asks many times.
  private static func awaitedTasks(ifAllAreOf stuck: [Scheduler]) -> [UInt64]? {
    let reader = TaskReader(CodeImages())
    guard reader.layout.readsChildren, reader.layout.readsDependencies else { return nil }
    // The tasks are retained until they were read.
    let known = TestCaseMembership.unowned + stuck.flatMap(\.tasks)
    defer { withExtendedLifetime(known) {} }
    // A task may have thousands of children, and thousands of tasks above it. So each task is read once and visited
    // once.
    var snapshots: [UInt: TaskSnapshot?] = [:]
    func read(_ address: UInt) -> TaskSnapshot? {
      if let snapshot = snapshots[address] { return snapshot }
      let snapshot = reader.read(address)
      snapshots[address] = .some(snapshot)
      return snapshot
    }
    var addresses: [UInt] = []
    var passed: Set<UInt> = []
    for task in known {
      var address = unsafeBitCast(task.job, to: UInt.self)
      while passed.insert(address).inserted {
        guard let parent = read(address)?.parent else {
          addresses.append(address)
          break
        }
        address = parent
      }
    }
    let isAnyThreadHeld = stuck.contains { $0.holdsThread }
    var seen: Set<UInt> = []
    var ids: [UInt64] = []
    var isAnyTestCase = false
    while let address = addresses.popLast() {
      guard seen.insert(address).inserted else { continue }
      guard let task = read(address) else { return nil }
      if task.state == .over { continue }
      let owner = TaskOwnership.shared.owner(of: task.id)
      // Tasks of stuck tests are not listed, because such a test may start tasks forever. Their progress is counted.
      let isTestCase = TestCaseMembership.isTestCase(task.id)
      let isOfStuck = stuck.contains { $0 === owner }
      // A test case that begins is progress, even beside a reported one with the same clock.
      if isTestCase || !isOfStuck { ids.append(task.id) }
      if !isOfStuck {
        switch (task.state, task.dependency) {
        // The task awaits child tasks, which are checked in turn.
        case (.suspended, .group): break
        case (.suspended, .task(let other)): addresses.append(other)
        // The task waits for a thread, while stuck tests may hold all threads.
        case (.enqueued, nil) where isAnyThreadHeld: break
        case (.suspended, nil), (.suspended, .continuation):
          guard isAnyThreadHeld, RealSleeps.waitsForThread(task.id) else { return nil }
        case (.enqueued, .executor(let identity)) where isAnyThreadHeld:
          guard TaskReader.passesThroughHooks(identity) else { return nil }
        default: return nil
        }
      }
      isAnyTestCase = isAnyTestCase || isTestCase
      addresses += task.children
    }
    return isAnyTestCase ? ids.sorted() : nil
  }

  private static func endProcess(_ stuck: [Scheduler]) -> Never {
    // The dump may block: it calls descriptions of the user's types, and writes to standard error. So a timer ends the
    // process.
    RealTime(in: .seconds(120)).schedule { _exit(1) }
    // XCTest runs one test at a time. A test has several schedulers if it has a clock outside its scope.
    let count =
      TestCaseMembership.isOn ? Set(stuck.map { ObjectIdentifier($0.outermost) }).count : 1
    let tests = count == 1 ? "1 stuck test is" : "\(count) stuck tests are"
    Terminal.writeLine(
      """
      error: The process ends with exit code 1, because only \(tests) left. \
      \(count == 1 ? "It" : "Each") was reported, and has not ended since. CLOCKS_KEEP_PROCESS=1 keeps \
      the process, for a debugger.

      \(Scheduler.dumpText(of: stuck))
      """)
    // A function that `exit` calls may wait for a lock that a stuck test holds. So a timer ends the process after all.
    RealTime(in: .seconds(5)).schedule { _exit(1) }
    exit(1)
  }

  /// Whether a debugger is attached.
  private static var isDebugged: Bool {
    let lines = TextFile.read("/proc/self/status")?.split(separator: "\n") ?? []
    return lines.contains { $0.hasPrefix("TracerPid:") && !$0.hasSuffix("\t0") }
  }
}

/// A failure that was recorded because a test does not continue.
struct StuckReport {
  /// The value of `XCTestFailures.newestTaskAtStart` at that time; `nil` if no XCTest test was known.
  let xcTest: UInt64?
  /// The tests that were not over then; empty in XCTest, for a scope, and if none was known.
  let tests: [UInt64]
  let since = ServedTime()
}

extension SchedulerState {
  /// Whether a failure was recorded because the test does not continue.
  ///
  /// Tests that share a clock share the scheduler. A report about one of them says nothing about the next.
  var isReported: Bool {
    guard let tests = stuckReport?.tests else { return false }
    return tests.isEmpty || testLifetime.unfinished.contains { tests.contains($0) }
  }
}

extension Scheduler {
  /// Whether a failure was recorded because the test does not continue, and the test has not ended.
  ///
  /// An abandoned scope counts only while it holds a thread. A test that is over counts while it holds the main thread.
  fileprivate var isStuck: Bool {
    if holdsMain { return true }
    return change { $0.isReported && ($0.scope?.body.isRunning ?? true) } && !isTestOver
      && (scope == nil || holdsThread || change { !$0.isAbandoned })
  }

  /// Whether reported work, a job or a block, holds the main thread.
  fileprivate var holdsMain: Bool {
    change { state in
      guard state.stuckReport != nil else { return false }
      return state.idleness.abandonedOnMain != nil || state.idleness.isExternalJobAbandonedOnMain
        || state.idleness.dispatchedBlocks.isMainAbandoned
    }
  }

  /// Whether the test is over. In XCTest, the task that makes a clock in `setUp` is over before the test begins.
  var isTestOver: Bool {
    change { $0.testLifetime.areOver } && !(isProcessWide && currentXCTest != nil)
  }

  /// Whether a failure was recorded because the current test does not continue.
  var wasReported: Bool {
    let (isReported, xcTest) = change { ($0.isReported, $0.stuckReport?.xcTest) }
    return isReported && (!isProcessWide || xcTest == currentXCTest)
  }

  /// Whether a job holds its thread, as a parallel job or one that was reported, and has not ended as far as is known.
  fileprivate var holdsThread: Bool {
    holdsMain
      || change {
        $0.heldThreadWhenAbandoned || $0.scope?.parallelJobs.isEmpty == false
          || $0.activity.isRunningReportedJob($0.idleness)
      }
  }

  /// Counts the jobs of the test.
  ///
  /// Constant once the test was cancelled, or has gone on for long after its report: later jobs are no progress.
  fileprivate func progress(after limit: Duration) -> UInt64 {
    // A test that is over may still hold the main thread.
    let isReportOfTest = wasReported || isTestOver
    return change { state in
      let isLate = isReportOfTest && state.stuckReport?.since.lasts(limit * 4) == true
      return isLate || state.scope?.body.reportDelivered == true ? 0 : state.activity.count
    }
  }

  /// Whether it is known which test the scheduler works for.
  var isTestKnown: Bool {
    change { $0.testLifetime.isKnown } || (isProcessWide && currentXCTest != nil)
  }

  /// Whether a failure can be recorded: the test is known, or the body of a scope is running in a test process.
  var canFail: Bool {
    isTestKnown || TestLibraries.isTestProcess && change { $0.scope?.body.isRunning == true }
  }

  /// The current test of XCTest, if one of its tasks has made or used a clock and is not over.
  var currentXCTest: UInt64? {
    guard let first = XCTestFailures.newestTaskAtStart else { return nil }
    let tasks = change { state in
      state.testLifetime.unfinished + (state.scope?.body.task.map { [$0.id] } ?? [])
    }
    let users = isProcessWide ? TaskOwnership.shared.processWideUsers : []
    if (tasks + users).contains(where: { $0 > first }) { return first }
    // A task that belongs to another scheduler may sleep on a clock of this one.
    let isAnySleeping = change {
      $0.virtualClocks.contains { $0.sleepingTasks.contains { taskID(of: $0) > first } }
    }
    return isAnySleeping ? first : nil
  }

  /// Notes that a failure was recorded because the test does not continue.
  func noteReport() {
    let test = TestLibraries.isXCTestRunning ? currentXCTest : nil
    change { state in
      guard !state.isReported || state.stuckReport?.xcTest != test else { return }
      state.stuckReport = StuckReport(
        xcTest: test,
        tests: state.scope == nil && !isProcessWide ? state.testLifetime.unfinished : [])
    }
  }
}
