import ClocksSupport
import Synchronization

/// Lets tests continue whose threads wait for events that only a move of virtual time can cause.
///
/// An unedited suite may block a thread in a way that is not seen as a wait: by a lock, a condition or
/// `DispatchQueue.sync`. The job counts as running, so no other job begins and time stands still. But it may wait for
/// another task, or for a block that sleeps. So while a test makes no progress, `IdleProcess` checks the process's
/// threads. If all wait for each other, and none has run since the last check, the jobs that hold threads become
/// parallel jobs, and time moves by one step. This continues for five seconds while none of these threads runs, and no
/// block begins or ends. Then the watchdog lets time pass without them.
enum IdleProcess {
  /// The times between two checks: after a step of time, while all threads wait, while a thread holds a test, and at
  /// other times.
  private static let intervals = (
    shortest: Duration.microseconds(100), short: Duration.milliseconds(1),
    medium: Duration.milliseconds(10), long: Duration.milliseconds(20)
  )
  private static let isChecking = Atomic(false)

  /// The result of one check of the threads of the process.
  private struct Check {
    /// The thread that made the check.
    let thread: Int32
    /// How often each thread had run; `nil` if some thread could continue.
    let turns: OutsideWork.Turns?

    init(of tests: [Scheduler]) {
      // A paused thread may run a block, or a job, within its run loop.
      let running = Set(tests.flatMap(\.heldThreads))
      let paused = Set(ThreadWaits.pausedThreads).subtracting(running)
      let holders = Set(tests.flatMap(\.holders)).subtracting(paused)
      thread = OutsideWork.currentThread
      turns = OutsideWork.turnsIfAllWait(
        holders: holders, paused: paused,
        abandoned: Set(Scheduler.all.flatMap(\.abandonedThreads)))
    }

    /// Whether no thread ran between two checks, except those that made them.
    func isSame(as earlier: Check?) -> Bool {
      guard let turns, let earlier, let before = earlier.turns else { return false }
      return turns.ofAll.allSatisfy {
        before.ofAll[$0.key] == $0.value || $0.key == thread || $0.key == earlier.thread
      }
    }
  }

  // No lock guards the three variables below, because only one thread checks at a time (`isChecking`).

  /// The last check, if a test was held then.
  nonisolated(unsafe) private static var last: Check?
  /// How often the threads that belong to no test had run, and since when this number is unchanged.
  nonisolated(unsafe) private static var outside: (turns: UInt64, since: ServedTime)?

  /// How many more checks follow quickly after a step of time, although no test is held or a thread could continue.
  ///
  /// Most threads run only for a moment after the step.
  nonisolated(unsafe) private static var quickChecks = 0

  /// Returns a short time while `quickChecks` remain, and then `interval`.
  private static func nextInterval(otherwise interval: Duration) -> Duration {
    guard quickChecks > 0 else { return interval }
    quickChecks -= 1
    return quickChecks > 15 ? intervals.shortest : intervals.short
  }

  /// Whether the threads that belong to no test may still wait for an event that comes soon. The limit is a guess.
  private static func mayOutsideAct(_ turns: OutsideWork.Turns) -> Bool {
    guard let turns = turns.ofOutside else { return false }
    if outside?.turns != turns { outside = (turns, ServedTime()) }
    return outside?.since.lasts(.milliseconds(200)) == false
  }

  /// Starts the regular checks if they are not under way. Called after a test begins.
  static func testBegins() {
    guard !isChecking.exchange(true, ordering: .sequentiallyConsistent) else { return }
    scheduleCheck(after: intervals.long)
  }

  private static func scheduleCheck(after interval: Duration) {
    RealTime(in: interval).schedule {
      let tests = Self.tests
      guard !tests.isEmpty else {
        isChecking.store(false, ordering: .sequentiallyConsistent)
        // A test may have begun after `tests` was read, and may have relied on `isChecking`, which was still set.
        if !Self.tests.isEmpty { testBegins() }
        return
      }
      scheduleCheck(after: check(tests))
    }
  }

  private static var tests: [Scheduler] { Scheduler.all.filter { $0.pausedWaits == .all } }

  /// Lets the tests continue if no thread can run. Returns the time to the next check.
  private static func check(_ tests: [Scheduler]) -> Duration {
    let polling = tests.filter { $0.letOthersRunBesidePolling() }
    if !polling.isEmpty {
      quickChecks = 20
      return intervals.shortest
    }
    let held = tests.filter { $0.changeWithoutThread { $0.isHeld } }
    let progress = held.map { $0.changeWithoutThread { $0.progress } }
    guard !held.isEmpty else {
      last = nil
      return nextInterval(otherwise: intervals.long)
    }
    var isIdle = false
    // A check takes some time, and other threads may run meanwhile. Two equal results show that none did.
    for _ in 0..<2 where !isIdle {
      let check = Check(of: held)
      isIdle = check.isSame(as: last)
      last = check
    }
    guard let turns = last?.turns else { return nextInterval(otherwise: intervals.medium) }
    guard isIdle else { return intervals.short }
    guard !mayOutsideAct(turns) else { return intervals.medium }
    var hasMoved = false
    for (test, before) in zip(held, progress) {
      let total = test.holders.reduce(0) { $0 &+ (turns.ofAll[$1] ?? 0) }
      guard
        test.changeWithoutThread({
          $0.progress == before && $0.isPatient(total) && !$0.awaitsThreadOfDispatch()
        })
      else { continue }
      let threads = test.heldThreads
      test.makeJobsParallel(before.job)
      ThreadWaits.endHolds(of: test, on: threads)
      test.change { $0.letTimeMove() }
      quickChecks = 20
      hasMoved = true
    }
    return hasMoved ? intervals.shortest : intervals.short
  }
}

extension Scheduler {
  /// The threads of the test's blocks, and of its jobs that run.
  fileprivate var holders: [Int32] { heldThreads + ThreadWaits.holders(of: self).map(\.thread) }

  /// The threads of the blocks for which the test no longer waits.
  var abandonedThreads: [Int32] {
    changeWithoutThread {
      $0.idleness.dispatchedBlocks.abandoned > 0
        ? $0.idleness.dispatchedBlocks.abandonedThreads : []
    }
  }

  /// The threads of the test's blocks, and of the job that the scheduler's thread runs.
  var heldThreads: [Int32] { changeWithoutThread { $0.heldThreads } }
}

extension SchedulerState {
  /// Whether a thread keeps jobs, or sleeping tasks, waiting.
  var isHeld: Bool {
    guard let scope, scope.body.isRunning, scope.isAwaited || !idleness.ready.isEmpty else {
      return false
    }
    return !idleness.mayStartJob || idleness.dispatchedBlocks.count > 0
      || idleness.externalTasks.areOutstanding
  }

  /// Whether, in real time, Dispatch would have a thread for a waiting block before the next sleep ends.
  ///
  /// Dispatch has as many threads for concurrent queues as there are processors. While these wait, it starts another
  /// one each second, counted from the first block of the process. Here the seconds count from the beginning of the
  /// test, as if the test ran alone. So if blocks that began with the test sleep for a second, the thread comes first.
  mutating func awaitsThreadOfDispatch() -> Bool {
    // While a job is ready, time does not move anyway. The job may begin beside the threads that wait.
    guard let scope, idleness.ready.isEmpty,
      let block = idleness.dispatchedBlocks.firstThatMayBegin
    else { return false }
    let virtualClock = scope.virtualClock
    if scope.blockWithoutThread?.number != block {
      scope.blockWithoutThread = (block, virtualClock.now)
    }
    let since = scope.blockWithoutThread?.since ?? virtualClock.now
    return !virtualClock.sleeps.isAnyDue(by: saturatingSum(since.inFullSeconds, .seconds(1)))
  }

  fileprivate var heldThreads: [Int32] {
    let blocks = idleness.dispatchedBlocks.threads
    guard activity.running != nil, let scope else { return blocks }
    return blocks + [scope.scope.actingThread.load(ordering: .relaxed)]
  }

  /// While this stays the same, no job, no block and no external task has begun or ended.
  ///
  /// Dispatch may start a thread between a check and the step of time that follows from it.
  fileprivate var progress: (job: UInt64?, blocks: UInt64, externalTasks: UInt64) {
    let running = activity.running?.number
    return (running, idleness.dispatchedBlocks.changes, idleness.externalTasks.changes)
  }

  /// Whether one of the test's threads ran in the last five seconds, or a block began or ended.
  ///
  /// - Parameter turns: How often the threads have run.
  func isPatient(_ turns: UInt64) -> Bool {
    guard let scope else { return false }
    let turns = turns &+ idleness.dispatchedBlocks.changes
    if scope.held?.turns != turns { scope.held = (turns, ServedTime()) }
    return scope.held?.since.lasts(.seconds(5)) == false
  }

  mutating func letTimeMove() {
    guard idleness.mayStartJob, idleness.ready.isEmpty else { return }
    idleness.leaveOutParallelWork()
    scope?.mustSetAlarm = true
  }
}

extension Duration {
  /// The duration without the part of a second. `components` does not hold the longest durations.
  fileprivate var inFullSeconds: Duration {
    Duration(attoseconds: attoseconds - attoseconds % 1_000_000_000_000_000_000)
  }
}
