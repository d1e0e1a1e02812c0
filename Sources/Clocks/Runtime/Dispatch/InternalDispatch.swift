// What this package itself hands to Dispatch. It is nobody's work, and its delays are real: so it goes
// past those functions of Dispatch in whose places ours are (DispatchCalls.swift).

import ClocksSupport
import Dispatch
import Synchronization

#if os(Linux)
  internal import CDispatch
#endif

enum InternalDispatch {
  /// Runs `body` soon on a thread of `executor`.
  static func run(on executor: ExecutorKind, _ body: @escaping @Sendable () -> Void) {
    #if os(Linux)
      let queue =
        executor == .main ? dispatch_get_main_queue() : poolQueue(defaultQuality)
      dispatch_async_f(queue, InternalWork.kept(body)) { InternalWork.run($0) }
    #else
      (executor == .main ? DispatchQueue.main : .global()).async(execute: body)
    #endif
  }

  /// Whether a thread of the pool is held by a job that may never end. Dispatch gives the pool another thread
  /// in place of one that is blocked, but none in place of one that runs in circles.
  private static let isPoolExhausted = Atomic(false)

  /// Notes that a thread of the pool is held for long: from now on each job gets a thread if none is free.
  static func poolIsExhausted() { isPoolExhausted.store(true, ordering: .relaxed) }

  #if os(Linux)
    /// The queue of the pool for a class of quality.
    static func poolQueue(_ quality: Int) -> dispatch_queue_t {
      // `DISPATCH_QUEUE_OVERCOMMIT` (`dispatch/queue_private.h`): a thread more where all are taken.
      dispatch_get_global_queue(quality, isPoolExhausted.load(ordering: .relaxed) ? 2 : 0)
    }

    /// `QOS_CLASS_DEFAULT` (`sys/qos.h`).
    private static let defaultQuality = 21
    /// `QOS_CLASS_UTILITY`: alarms ring although tests block the threads of the pool.
    fileprivate static let alarmQuality = 17
  #endif
}

extension RealTime {
  /// Runs `body` on a thread of the pool when the instant has come, if it ever does.
  func schedule(_ body: @escaping @Sendable () -> Void) {
    guard let nanosecondsLeft else { return }
    let delay = Int(clamping: nanosecondsLeft)
    #if os(Linux)
      let queue = dispatch_get_global_queue(InternalDispatch.alarmQuality, 0)
      dispatch_after_f(dispatch_time(0, Int64(delay)), queue, InternalWork.kept(body)) {
        InternalWork.run($0)
      }
    #else
      DispatchQueue.global(qos: .utility).asyncAfter(
        deadline: .now() + .nanoseconds(delay), execute: body)
    #endif
  }
}

#if os(Linux)
  /// A closure as a pointer.
  private final class InternalWork {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func kept(_ body: @escaping @Sendable () -> Void) -> UnsafeMutableRawPointer {
      Unmanaged.passRetained(InternalWork(body)).toOpaque()
    }

    static func run(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<InternalWork>.fromOpaque(pointer).takeRetainedValue().body()
    }
  }
#endif
