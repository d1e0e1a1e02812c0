import Dispatch

/// Schedulers for production: dispatch queues.
struct DispatchSchedulers: WorkSchedulerFactory {
  func serial(named name: String) -> any WorkScheduler {
    QueueScheduler(queue: DispatchQueue(label: name))
  }

  func concurrent(named name: String) -> any WorkScheduler {
    QueueScheduler(queue: DispatchQueue(label: name, attributes: .concurrent))
  }

  var main: any WorkScheduler { QueueScheduler(queue: .main, isMain: true) }

  private struct QueueScheduler: WorkScheduler {
    let queue: DispatchQueue
    var isMain = false

    func schedule(_ work: @escaping @Sendable () -> Void) {
      queue.async(execute: work)
    }

    func wait<Value: Sendable>(for work: @Sendable () -> Value) -> Value {
      // The main queue would wait for itself.
      isMain && DispatchQueue.isOnMain ? work() : queue.sync(execute: work)
    }
  }
}

extension DispatchQueue {
  /// Whether work of the main queue is running here.
  ///
  /// Not the same as being on the main thread: on Linux, other threads serve the main queue.
  static var isOnMain: Bool { getSpecific(key: mainKey) != nil }

  private static let mainKey: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()
}
