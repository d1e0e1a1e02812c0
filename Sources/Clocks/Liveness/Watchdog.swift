import ClocksSupport

/// Notices what would otherwise be a silent hang: a job that holds its thread while the rest of its
/// test waits in vain, and a test that sleeps on a clock that nobody advances.
///
/// Nothing that runs on the test's own scheduler could say so: a test's tasks run one at a time,
/// and one that blocks its thread until another has run blocks the test for ever; and a test that
/// waits runs nothing. So a timer of Dispatch's looks at all schedulers now and then, and has the
/// test say what is wrong. Nothing ever waits for it.
final class Watchdog: Sendable {
  static let shared = Watchdog()

  private init() {
    let limit = Environment.blockedAfter
    // Often enough for a report to come when it says.
    let interval = limit.seconds / 40
    Self.scheduleNextCheck(limit, every: .seconds(interval))
  }

  private static func scheduleNextCheck(_ limit: Duration, every interval: Duration) {
    RealTime(in: interval).schedule {
      look(limit, every: interval)
      scheduleNextCheck(limit, every: interval)
    }
  }

  /// Begins to look, if that has not begun yet. O(1).
  static func start() { _ = shared }

  /// - Parameters:
  ///   - limit: How much real time makes a test count as stuck.
  ///   - interval: How much has passed since the last look.
  private static func look(_ limit: Duration, every interval: Duration) {
    let isAnyBusy = Scheduler.isAnyBusy
    let isAnyRunning = Scheduler.isAnyRunning
    let schedulers = Scheduler.all
    let haveScopes = Set(schedulers.compactMap(\.parent).map(ObjectIdentifier.init))
    for scheduler in schedulers {
      if let blockage = scheduler.newBlockage(after: limit) {
        let description =
          (blockage.description(after: limit) + scheduler.scopeDescription)
          .with(scheduler.dumpTasks()) + scheduler.explanation
        scheduler.report.runInTest {
          scheduler.report.record(description)
          scheduler.abort(blockage)
        }
      }
      if scheduler.scope != nil { scheduler.ran(for: interval) }
      if let absence = scheduler.newAbsence(after: limit, isAnyRunning: isAnyRunning) {
        let description =
          (absence.description(after: limit) + scheduler.scopeDescription)
          .with(scheduler.dumpTasks()) + scheduler.explanation
        scheduler.report.runInTest {
          scheduler.report.record(description)
          scheduler.continueAfterAbsence()
        }
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
    let dump = scheduler.dumpTasks()
    let explanation = scheduler.explanation
    guard TestLibraries.isTestProcess, scheduler.change({ $0.testLifetime.isKnown }) else {
      // Perhaps the test is over that has left these sleeps behind, and another one takes its time;
      // or there is no test at all, and a program waits for somebody to move its time.
      return warn(description.with(dump), at: scheduler.report.origin)
    }
    scheduler.report.runInTest {
      scheduler.report.record(
        (description + "\n" + Standstill.sleepsEnd).with(dump) + explanation)
      scheduler.cancelAllSleeps()
    }
  }
}
