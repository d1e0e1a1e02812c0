import ClocksSupport

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch
#endif

/// The dispatch queues whose blocks run side by side, by their labels.
///
/// While a block of such a queue waits, those behind it can begin. The class of a queue tells whether it is concurrent, and
/// is read when a block is submitted. A serial queue counts as concurrent if a concurrent one has the same label.
enum ConcurrentQueues {
  /// Guards `labels`. Rank `leaf`.
  private static let lock = Lock(.leaf)
  @exclusivity(unchecked) nonisolated(unsafe) private static var labels: Set<String> = []

  static func contains(_ label: String) -> Bool {
    label.hasPrefix("com.apple.root.") || lock.withLock { labels.contains(label) }
  }

  #if os(Linux) && canImport(Glibc) && compiler(>=6.2)
    /// Notes the label of a queue if the queue is concurrent.
    static func note(_ queue: OpaquePointer) {
      guard let concurrent, classOfObject(queue) == concurrent else { return }
      let label = DispatchObject.label(of: queue)
      lock.withLock { _ = labels.insert(label) }
    }

    /// The class of concurrent queues; `nil` if it is that of serial ones.
    private static let concurrent: UInt? = {
      let serial = dispatch_queue_create(nil, nil)
      let concurrent = dispatch_queue_create(nil, concurrentAttribute)
      defer {
        DispatchObject.release(serial)
        DispatchObject.release(concurrent)
      }
      let found = classOfObject(concurrent)
      return found == classOfObject(serial) ? nil : found
    }()

    /// The first word of an object of libdispatch is the address of its class.
    private static func classOfObject(_ object: OpaquePointer) -> UInt {
      UnsafeRawPointer(object).load(as: UInt.self)
    }

    /// `DISPATCH_QUEUE_CONCURRENT`, which is a macro.
    private static var concurrentAttribute: OpaquePointer? {
      RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent").map { OpaquePointer($0) }
    }
  #endif
}
