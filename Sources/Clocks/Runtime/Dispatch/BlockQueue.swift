import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  extension BlockQueue {
    /// - Parameter queue: Must not be freed while the value is in use.
    init(_ queue: OpaquePointer) {
      self.init(
        label: DispatchObject.label(of: queue), address: UInt(bitPattern: queue),
        isConcurrent: Self.classes.concurrent.contains(Self.classOfObject(queue)))
    }

    /// Whether an object of libdispatch is a queue that can be suspended.
    static func canBeSuspended(_ object: OpaquePointer) -> Bool {
      ([classes.serial] + classes.concurrent).contains(classOfObject(object))
    }

    /// The classes of serial queues and of concurrent ones; `concurrent` is empty if they are the same.
    private static let classes: (serial: UInt, concurrent: [UInt]) = {
      // The variable behind `DISPATCH_QUEUE_CONCURRENT`, a macro that Swift cannot import.
      let attribute = RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent")
      let serial = dispatch_queue_create(nil, nil)
      let concurrent = dispatch_queue_create(nil, attribute.map { OpaquePointer($0) })
      defer { [serial, concurrent].forEach(DispatchObject.release) }
      let ofSerial = classOfObject(serial)
      let ofConcurrent = [concurrent, dispatch_get_global_queue(0, 0)].map(classOfObject)
      return (ofSerial, ofConcurrent.contains(ofSerial) ? [] : ofConcurrent)
    }()

    /// The first word of an object of libdispatch is the address of its class.
    private static func classOfObject(_ object: OpaquePointer) -> UInt {
      UnsafeRawPointer(object).load(as: UInt.self)
    }
  }

  /// The queues that tests have suspended, or have made inactive.
  enum SuspendedQueues {
    private struct Suspension {
      let queue: BlockQueue
      weak var owner: TaskOwner?
    }

    /// Guards `suspensions`. Rank `leaf`.
    private static let lock = Lock(.leaf)
    @exclusivity(unchecked) nonisolated(unsafe) private static var suspensions:
      [OpaquePointer: [Suspension]] = [:]

    static func wasSuspended(_ object: OpaquePointer, of owner: TaskOwner) {
      guard BlockQueue.canBeSuspended(object) else { return }
      let suspension = Suspension(queue: BlockQueue(object), owner: owner)
      // The owner is notified before the list grows. Thread B, which resumes the queue, may take this suspension from
      // the list, and must not notify the owner first.
      owner.noteStop(.ofAll, of: suspension.queue, 1)
      lock.withLock { suspensions[object, default: []].append(suspension) }
    }

    /// Notes a queue that was just made, if it is inactive. Returns the queue.
    static func wasMade(
      _ queue: OpaquePointer?, attribute: OpaquePointer?
    ) -> OpaquePointer? {
      // The function returns its argument if that attribute already makes queues inactive.
      if let queue, let attribute, let owner = DispatchCalls.owner,
        dispatch_queue_attr_make_initially_inactive(attribute) == attribute
      {
        wasSuspended(queue, of: owner)
      }
      return queue
    }

    /// Notes that a suspended queue is about to be resumed, or an inactive one activated.
    static func willResume(_ object: OpaquePointer) {
      let suspension = lock.withLock {
        defer { if suspensions[object]?.isEmpty == true { suspensions[object] = nil } }
        return suspensions[object]?.popLast()
      }
      if let suspension { suspension.owner?.noteStop(.ofAll, of: suspension.queue, -1) }
    }
  }
#endif
