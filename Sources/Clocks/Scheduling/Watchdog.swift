import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Notices what would otherwise be a silent hang: a job that holds its thread while the rest of its
/// test waits in vain, and a test that sleeps on a clock that nobody advances.
///
/// Nothing that runs on the test's own scheduler could say so: a test's tasks run one at a time,
/// and one that blocks its thread until another has run blocks the test for ever; and a test that
/// waits runs nothing. So a timer of Dispatch's looks at all schedulers now and then, and has the
/// test say what is wrong. Nothing ever waits for it.
final class Watchdog: Sendable {
  static let shared = Watchdog()

  /// How much real time makes a job count as blocked: half a minute, unless the environment
  /// variable `CLOCKS_BLOCKED_AFTER` says another number of seconds.
  let limit: Duration

  /// Only kept alive; nobody touches it after it was activated.
  nonisolated(unsafe) private let timer: any DispatchSourceTimer

  private init() {
    let seconds = getenv("CLOCKS_BLOCKED_AFTER").flatMap { Double(String(cString: $0)) } ?? 30
    limit = .seconds(seconds > 0 ? seconds : 30)
    timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
    let interval = limit.seconds / 4
    timer.schedule(deadline: .now() + interval, repeating: interval)
    let limit = limit
    timer.setEventHandler { Self.look(limit) }
    timer.activate()
  }

  /// Begins to look, if that has not begun yet. O(1).
  static func start() { _ = shared }

  private static func look(_ limit: Duration) {
    let isAnyBusy = TaskOwnership.shared.isAnyBusy
    let schedulers = TaskOwnership.shared.registeredSchedulers
    let haveScopes = Set(schedulers.compactMap(\.parent).map(ObjectIdentifier.init))
    for scheduler in schedulers {
      if let blockage = scheduler.newBlockage(after: limit) {
        let description = blockage.description(after: limit) + scheduler.scopeDescription
        scheduler.runInTest { scheduler.record(description) }
      }
      let hasScope = haveScopes.contains(ObjectIdentifier(scheduler))
      if let standstill = scheduler.newStandstill(
        after: limit, isAnyBusy: isAnyBusy, hasScope: hasScope)
      {
        report(standstill, of: scheduler, after: limit)
      }
    }
  }

  private static func report(
    _ standstill: Standstill, of scheduler: Scheduler, after limit: Duration
  ) {
    let description = standstill.description(after: limit)
    guard scheduler.testTask != nil else {
      // Perhaps the test is over that has left these sleeps behind, and another one takes its time.
      return warn(description, at: scheduler.origin)
    }
    scheduler.runInTest {
      scheduler.record(
        """
        \(description)
        They throw a CancellationError now, so that the test can end.
        """)
      scheduler.cancelAllSleeps()
    }
  }
}

/// A job that holds its thread while others wait for it.
struct Blockage: Sendable {
  /// The job's task; 0 if it is not known.
  var task: UInt64
  /// The number of jobs that wait for it.
  var waiting: Int

  func description(after limit: Duration) -> String {
    """
    \(task == 0 ? "A job" : "A job of task #\(task)") has held its thread for \(limit) of real \
    time, and the rest of the test waits for it: \
    \(waiting == 1 ? "1 job is" : "\(waiting) jobs are") ready. A test's tasks run one at a time, \
    so a thread that is blocked until another task has run (by a semaphore, a lock, a synchronous \
    wait) is blocked for ever: await it instead.

    """
  }
}

/// Tasks that sleep on clocks that nobody advances, in a test in which nothing else happens.
struct Standstill: Sendable {
  /// A list for each clock on which a task sleeps, to be made without a lock.
  var sleeps: [@Sendable () -> [String]]

  func description(after limit: Duration) -> String {
    """
    Nothing has happened in the test for \(limit) of real time, tasks sleep on a clock of it, and \
    nobody advances it: call `await clock.advance(by:)`, before the test awaits what the time is \
    to bring about; or let time move by itself, with `withVirtualTime`.
    Pending sleeps:
    \(sleeps.flatMap { $0() }.listed)
    """
  }
}

extension Duration {
  /// The length in seconds, rounded.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
