import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  extension BlockQueue {
    /// - Parameter queue: Must not be freed while the value is in use.
    init(_ queue: OpaquePointer) {
      self.init(single: queue)
      var next = Self.target(of: queue)
      while let target = next {
        targets.append(BlockQueue(single: target))
        next = Self.target(of: target)
      }
    }

    /// - Parameter queue: `nil` if Dispatch chooses the queue.
    init(ofSource queue: OpaquePointer?) {
      self = queue.map { BlockQueue($0) } ?? BlockQueue(label: "a source's", isConcurrent: true)
    }

    private init(single queue: OpaquePointer) {
      let kind = Self.classOfObject(queue)
      self.init(
        label: DispatchObject.label(of: queue), address: UInt(bitPattern: queue),
        isConcurrent: Self.layout.map { kind == $0.concurrent || kind == $0.global } ?? false)
    }

    /// Whether an object of libdispatch is a queue that can be suspended.
    static func canBeSuspended(_ object: OpaquePointer) -> Bool {
      let kind = classOfObject(object)
      return layout.map { kind == $0.serial || kind == $0.concurrent } ?? false
    }

    /// Whether the class and the target of a queue can be read.
    static var isReadable: Bool { layout != nil }

    /// Returns the target of a queue; `nil` for a global queue.
    private static func target(of queue: OpaquePointer) -> OpaquePointer? {
      guard layout != nil,
        let target = UnsafeRawPointer(queue).load(
          fromByteOffset: Layout.offsetOfTarget, as: OpaquePointer?.self)
      else { return nil }
      return canBeSuspended(target) || target == dispatch_get_main_queue() ? target : nil
    }

    /// The layout of queues in memory, as far as this package relies on it. It is verified when it is first used.
    private struct Layout {
      /// The fields before: the class, two reference counts of 32 bits, and the next object of a list.
      static let offsetOfTarget = 24

      // The classes of serial and concurrent queues that a program makes, and of the global queues.
      let serial, concurrent, global: UInt

      init?() {
        // The variable behind `DISPATCH_QUEUE_CONCURRENT`, a macro that Swift cannot import.
        guard let attribute = RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent") else {
          return nil
        }
        let target = dispatch_queue_create(nil, OpaquePointer(attribute))
        let queue = dispatch_queue_create_with_target(nil, nil, target)
        defer { [queue, target].forEach(DispatchObject.release) }
        serial = classOfObject(queue)
        concurrent = classOfObject(target)
        global = classOfObject(dispatch_get_global_queue(0, 0))
        guard Set([serial, concurrent, global]).count == 3,
          UnsafeRawPointer(queue).load(fromByteOffset: Self.offsetOfTarget, as: UInt.self)
            == UInt(bitPattern: target)
        else { return nil }
      }
    }

    private static let layout = Layout()

    /// The first word of an object of libdispatch is the address of its class.
    private static func classOfObject(_ object: OpaquePointer) -> UInt {
      UnsafeRawPointer(object).load(as: UInt.self)
    }
  }

  extension SuspendedQueues {
    static func wasSuspended(_ object: OpaquePointer) { change(object) { $0.suspensions += 1 } }

    /// Notes a queue that was just made, if it is inactive. Returns the queue.
    static func wasMade(
      _ queue: OpaquePointer?, attribute: OpaquePointer?
    ) -> OpaquePointer? {
      // The function returns its argument if that attribute already makes queues inactive.
      if let queue, let attribute,
        dispatch_queue_attr_make_initially_inactive(attribute) == attribute
      {
        change(queue) { $0.isInactive = true }
      }
      return queue
    }

    /// Notes that an inactive queue is about to be activated. Another queue does not change.
    static func willActivate(_ object: OpaquePointer) { change(object) { $0.isInactive = false } }

    static func willResume(_ object: OpaquePointer) {
      // The suspension may not have been seen.
      change(object) { $0.suspensions = max(0, $0.suspensions - 1) }
    }

    private static func change(_ object: OpaquePointer, _ body: (inout State) -> Void) {
      guard BlockQueue.canBeSuspended(object) else { return }
      change(UInt(bitPattern: object), body, queue: BlockQueue(object))
    }
  }
#endif
