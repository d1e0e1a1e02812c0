import ClocksSupport
import Dispatch
import Synchronization

#if os(Linux)
  internal import CDispatch
#endif

/// The work that this package itself submits to Dispatch.
///
/// It is unowned, and its delays are real. So it uses the functions of Dispatch that are not replaced.
enum InternalDispatch {
  /// Submits `body` to a queue whose threads run the jobs of `executor`.
  static func run(on executor: ExecutorKind, _ body: @escaping @Sendable () -> Void) {
    #if os(Linux)
      let queue =
        executor == .main ? dispatch_get_main_queue() : poolQueue(defaultQuality)
      dispatch_async_f(queue, InternalWork.retained(body)) { InternalWork.run($0) }
    #else
      (executor == .main ? DispatchQueue.main : .global()).async(execute: body)
    #endif
  }

  /// Whether a job that may never end occupies a thread of the pool.
  ///
  /// Dispatch replaces a thread that is blocked, but not one that loops.
  private static let isPoolExhausted = Atomic(false)

  /// Makes Dispatch start a thread for each job if none is free, because a job occupies a thread for long.
  static func poolIsExhausted() { isPoolExhausted.store(true, ordering: .relaxed) }

  #if os(Linux)
    /// Returns the queue of the pool for a quality-of-service class.
    static func poolQueue(_ quality: Int) -> dispatch_queue_t {
      // 2 is `DISPATCH_QUEUE_OVERCOMMIT` (`dispatch/queue_private.h`): a thread more if all are taken.
      dispatch_get_global_queue(quality, isPoolExhausted.load(ordering: .relaxed) ? 2 : 0)
    }

    /// `QOS_CLASS_DEFAULT` (`sys/qos.h`).
    private static let defaultQuality = 21
    /// `QOS_CLASS_UTILITY`, because tests may block the threads of the default class.
    fileprivate static let alarmQuality = 17
  #endif
}

extension RealTime {
  /// Runs `body` on a thread of the pool at this instant, if it ever comes.
  func schedule(_ body: @escaping @Sendable () -> Void) {
    guard let nanosecondsLeft else { return }
    let delay = Int(clamping: nanosecondsLeft)
    #if os(Linux)
      let queue = dispatch_get_global_queue(InternalDispatch.alarmQuality, 0)
      dispatch_after_f(dispatch_time(0, Int64(delay)), queue, InternalWork.retained(body)) {
        InternalWork.run($0)
      }
    #else
      DispatchQueue.global(qos: .utility).asyncAfter(
        deadline: .now() + .nanoseconds(delay), execute: body)
    #endif
  }
}

#if os(Linux)
  /// A closure that C code can hold as a pointer.
  private final class InternalWork {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func retained(_ body: @escaping @Sendable () -> Void) -> UnsafeMutableRawPointer {
      Unmanaged.passRetained(InternalWork(body)).toOpaque()
    }

    static func run(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<InternalWork>.fromOpaque(pointer).takeRetainedValue().body()
    }
  }
#endif
