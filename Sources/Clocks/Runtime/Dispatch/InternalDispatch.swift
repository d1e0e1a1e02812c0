import ClocksSupport

#if os(Linux)
  internal import CDispatch
#elseif canImport(Dispatch)
  import Dispatch
#endif

/// The functions of Dispatch that are not replaced, for the package's own work.
enum InternalDispatch {
  #if os(Linux)
    typealias Queue = dispatch_queue_t

    static var mainQueue: Queue { dispatch_get_main_queue() }

    static func submit(_ body: @escaping @Sendable () -> Void, to queue: Queue) {
      dispatch_async_f(queue, InternalWork.retained(body)) { InternalWork.run($0) }
    }

    static func globalQueue(_ quality: QualityOfService, isBlocked: Bool) -> Queue {
      // 2 is `DISPATCH_QUEUE_OVERCOMMIT` (`dispatch/queue_private.h`): one more thread if all are taken.
      dispatch_get_global_queue(quality.rawValue, isBlocked ? 2 : 0)
    }

    /// Returns a queue like the runtime's own for jobs of a priority (`DispatchGlobalExecutor.cpp`).
    static func cooperativeQueue(_ priority: Int) -> Queue {
      guard let concurrent = RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent"),
        let setWidth = RuntimeSymbol.function(
          "dispatch_queue_set_width", as: (@convention(c) (Queue, Int) -> Void).self)
      else { return globalQueue(QualityOfService(priority), isBlocked: false) }
      let attributes = dispatch_queue_attr_make_with_qos_class(
        dispatch_queue_attr_t(concurrent), UInt32(priority), 0)
      let queue: Queue = dispatch_queue_create("Swift global concurrent queue", attributes)
      // `DISPATCH_QUEUE_WIDTH_MAX_LOGICAL_CPUS`
      setWidth(queue, -3)
      return queue
    }
  #elseif canImport(Dispatch)
    typealias Queue = DispatchQueue

    static var mainQueue: Queue { .main }

    static func submit(_ body: @escaping @Sendable () -> Void, to queue: Queue) {
      queue.async(execute: body)
    }

    static func globalQueue(_ quality: QualityOfService, isBlocked: Bool) -> Queue {
      global(quality, flags: isBlocked ? 2 : 0)
    }

    /// Returns the queue that the runtime has for jobs of a priority (`DispatchGlobalExecutor.cpp`).
    static func cooperativeQueue(_ priority: Int) -> Queue {
      // 4 is `DISPATCH_QUEUE_COOPERATIVE`.
      global(QualityOfService(priority), flags: 4)
    }

    private static func global(_ quality: QualityOfService, flags: UInt) -> Queue {
      #if canImport(Darwin)
        typealias GetQueue = @convention(c) (Int, UInt) -> UnsafeRawPointer?
        let find = RuntimeSymbol.function("dispatch_get_global_queue", as: GetQueue.self)
        guard let queue = find?(quality.rawValue, flags) else { return .global() }
        return Unmanaged<DispatchQueue>.fromOpaque(queue).takeUnretainedValue()
      #else
        // On this platform a queue from Dispatch's C functions cannot be used as a `DispatchQueue`, so the flags are
        // ignored.
        return .global()
      #endif
    }
  #else
    /// Stands for a queue where there is no Dispatch. No hook is installed there, so each block is a task.
    enum Queue { case main, pool }

    static var mainQueue: Queue { .main }

    static func submit(_ body: @escaping @Sendable () -> Void, to queue: Queue) {
      if queue == .main { Task { @MainActor in body() } } else { Task.detached { body() } }
    }

    static func globalQueue(_ quality: QualityOfService, isBlocked: Bool) -> Queue { .pool }

    static func cooperativeQueue(_ priority: Int) -> Queue { .pool }
  #endif
}

/// The classes of Dispatch's global queues (`sys/qos.h`).
enum QualityOfService: Int {
  case background = 9
  case utility = 17
  case `default` = 21
  case userInitiated = 25
  case userInteractive = 33

  /// The class of the runtime's queue for a priority.
  init(_ priority: Int) { self = Self(rawValue: priority) ?? .default }
}

extension RealTime {
  /// Runs `body` at this instant, on a global queue of Dispatch or in a task, unless the instant never comes.
  func schedule(_ body: @escaping @Sendable () -> Void) {
    guard let nanosecondsLeft else { return }
    // A 32-bit `Int` could not hold three seconds.
    let delay = Int64(clamping: nanosecondsLeft)
    #if os(Linux)
      // With `isBlocked`, Dispatch starts a thread for the queue even if blocks of tests occupy all others.
      let queue = InternalDispatch.globalQueue(.utility, isBlocked: true)
      dispatch_after_f(dispatch_time(0, delay), queue, InternalWork.retained(body)) {
        InternalWork.run($0)
      }
    #elseif canImport(Dispatch)
      DispatchQueue.global(qos: .utility).asyncAfter(
        deadline: .now() + .nanoseconds(Int(clamping: delay)), execute: body)
    #else
      Task.detached {
        try? await Task.sleep(for: .nanoseconds(delay))
        body()
      }
    #endif
  }
}

#if os(Linux)
  /// A closure that is passed through a function of C or of the runtime, as a pointer.
  final class InternalWork {
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
