#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  internal import CDispatch

  /// Timers of Dispatch's.
  extension DispatchCalls {
    private typealias Create =
      @convention(c) (UnsafeRawPointer, UInt, UInt, OpaquePointer?) -> OpaquePointer?
    private typealias OfObject = @convention(c) (OpaquePointer) -> Void
    private typealias SetHandler = @convention(c) (OpaquePointer, UnsafeRawPointer?) -> Void

    nonisolated(unsafe) private static let timerType = RuntimeHooks.symbol(
      "_dispatch_source_type_timer")
    private static let originalCreate = original("dispatch_source_create", as: Create.self)
    private static let originalActivate = original("dispatch_activate", as: OfObject.self)
    private static let originalResume = original("dispatch_resume", as: OfObject.self)
    private static let originalSuspend = original("dispatch_suspend", as: OfObject.self)
    private static let originalRelease = original("dispatch_release", as: OfObject.self)
    private static let originalCancel = original("dispatch_source_cancel", as: OfObject.self)
    private static let setHandler = original(
      "dispatch_source_set_event_handler", as: SetHandler.self)
    private static let setCancelHandler = original(
      "dispatch_source_set_cancel_handler", as: SetHandler.self)

    static var timers: Calls {
      let create: Create = { type, handle, mask, queue in
        let source = DispatchCalls.originalCreate(type, handle, mask, queue)
        if type == DispatchCalls.timerType.map({ UnsafeRawPointer($0) }), let source,
          let owner = DispatchCalls.owner
        {
          DispatchTimerRegistry.add(DispatchTimer(source, on: queue, of: owner), for: source)
        }
        return source
      }
      let set: @convention(c) (OpaquePointer, UInt64, UInt64, UInt64) -> Void = {
        source, start, interval, leeway in
        if DispatchTimerRegistry.timer(source)?.set(start, interval) == true { return }
        dispatch_source_set_timer(source, start, interval, leeway)
      }
      let setHandler: SetHandler = { source, block in
        guard let timer = DispatchTimerRegistry.timer(source) else {
          return DispatchCalls.setHandler(source, block)
        }
        let ours = timer.handler(block)
        DispatchCalls.setHandler(source, ours?.pointer)
        ours?.release()
      }
      let setCancelHandler: SetHandler = { source, block in
        guard let timer = DispatchTimerRegistry.timer(source) else {
          return DispatchCalls.setCancelHandler(source, block)
        }
        let ours = timer.cancelHandler(block)
        DispatchCalls.setCancelHandler(source, ours?.pointer)
        ours?.release()
      }
      return [
        ("dispatch_source_create", unsafeBitCast(create, to: UnsafeRawPointer.self)),
        ("dispatch_source_set_timer", unsafeBitCast(set, to: UnsafeRawPointer.self)),
        (
          "dispatch_source_set_event_handler", unsafeBitCast(setHandler, to: UnsafeRawPointer.self)
        ),
        (
          "dispatch_source_set_cancel_handler",
          unsafeBitCast(setCancelHandler, to: UnsafeRawPointer.self)
        ),
      ] + timerStates
    }

    private static var timerStates: Calls {
      let activate: OfObject = {
        DispatchTimerRegistry.timer($0)?.activate()
        DispatchCalls.originalActivate($0)
      }
      let resume: OfObject = {
        DispatchTimerRegistry.timer($0)?.resume()
        DispatchCalls.originalResume($0)
      }
      let suspend: OfObject = {
        DispatchTimerRegistry.timer($0)?.suspend()
        DispatchCalls.originalSuspend($0)
      }
      let cancel: OfObject = {
        DispatchTimerRegistry.timer($0)?.cancel()
        DispatchCalls.originalCancel($0)
      }
      let release: OfObject = {
        DispatchTimerRegistry.remove($0)?.isReleased()
        DispatchCalls.originalRelease($0)
      }
      return [
        ("dispatch_activate", unsafeBitCast(activate, to: UnsafeRawPointer.self)),
        ("dispatch_resume", unsafeBitCast(resume, to: UnsafeRawPointer.self)),
        ("dispatch_suspend", unsafeBitCast(suspend, to: UnsafeRawPointer.self)),
        ("dispatch_source_cancel", unsafeBitCast(cancel, to: UnsafeRawPointer.self)),
        ("dispatch_release", unsafeBitCast(release, to: UnsafeRawPointer.self)),
      ]
    }
  }
#endif
