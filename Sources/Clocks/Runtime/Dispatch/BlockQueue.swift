import ClocksSupport

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch

  extension BlockQueue {
    /// - Parameter queue: Must not be freed while the value is in use.
    init(_ queue: OpaquePointer) {
      self.init(
        label: DispatchObject.label(of: queue), address: UInt(bitPattern: queue),
        isConcurrent: Self.concurrentClasses.contains(Self.classOfObject(queue)))
    }

    /// The classes of concurrent queues; empty if serial queues have the same class.
    private static let concurrentClasses: [UInt] = {
      let serial = dispatch_queue_create(nil, nil)
      let concurrent = dispatch_queue_create(nil, concurrentAttribute)
      defer { [serial, concurrent].forEach(DispatchObject.release) }
      let classes = [concurrent, dispatch_get_global_queue(0, 0)].map(classOfObject)
      return classes.contains(classOfObject(serial)) ? [] : classes
    }()

    /// The first word of an object of libdispatch is the address of its class.
    private static func classOfObject(_ object: OpaquePointer) -> UInt {
      UnsafeRawPointer(object).load(as: UInt.self)
    }

    /// `DISPATCH_QUEUE_CONCURRENT`, which is a macro.
    private static var concurrentAttribute: OpaquePointer? {
      RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent").map { OpaquePointer($0) }
    }
  }
#endif
