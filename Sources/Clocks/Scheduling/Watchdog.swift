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

/// Notices when a job holds its thread for so long that the rest of its test waits in vain.
///
/// A test's tasks run one at a time: one that blocks its thread until another has run blocks the
/// test for ever, and nothing that runs on the test's own scheduler could say so. So a timer of
/// Dispatch's looks at all schedulers now and then. It looks only, and nothing ever waits for it.
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
    for scheduler in TaskOwnership.shared.registeredSchedulers {
      guard let blockage = scheduler.newBlockage(after: limit) else { continue }
      recordFailure(
        """
        \(blockage.task == 0 ? "A job" : "A job of task #\(blockage.task)") has held its thread for \
        \(limit) of real time, and the rest of the test waits for it: \
        \(blockage.waiting == 1 ? "1 job is" : "\(blockage.waiting) jobs are") ready. A test's tasks \
        run one at a time, so a thread that is blocked until another task has run (by a semaphore, a \
        lock, a synchronous wait) is blocked for ever: await it instead.
        \(scheduler.scopeDescription)
        """, at: scheduler.origin)
    }
  }
}

/// A job that holds its thread while others wait for it.
struct Blockage: Sendable {
  /// The job's task; 0 if it is not known.
  var task: UInt64
  /// The number of jobs that wait for it.
  var waiting: Int
}

extension Duration {
  /// The length in seconds, rounded.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
