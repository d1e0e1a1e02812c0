#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch

  /// What Dispatch has for all of its objects.
  enum DispatchObject {
    private typealias Function = @convention(c) (OpaquePointer) -> Void

    static func keep(_ object: OpaquePointer) { retainFunction(object) }

    static func release(_ object: OpaquePointer) { releaseFunction(object) }

    static func label(of queue: OpaquePointer) -> String {
      String(cString: dispatch_queue_get_label(queue))
    }

    private static let retainFunction = function("dispatch_retain")
    private static let releaseFunction = function("dispatch_release")

    private static func function(_ name: String) -> Function {
      unsafeBitCast(RuntimeHooks.symbol(name), to: Function.self)
    }
  }
#endif
