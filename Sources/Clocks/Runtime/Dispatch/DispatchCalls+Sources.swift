import ClocksSupport

#if os(Linux) && canImport(Glibc)
  internal import CDispatch

  // The calls by which Swift code uses dispatch sources, and those that are common to all objects of Dispatch.
  extension DispatchCalls {
    private typealias Create =
      @convention(c) (UnsafeRawPointer, UInt, UInt, OpaquePointer?) -> OpaquePointer?
    private typealias SetTimer = @convention(c) (OpaquePointer, UInt64, UInt64, UInt64) -> Void
    private typealias SetHandler = @convention(c) (OpaquePointer, UnsafeRawPointer?) -> Void

    static var sources: [CallTables.Entry] {
      [
        sourceCreate.entry, setTimer.entry, setHandler.entry, setCancelHandler.entry,
        setRegistrationHandler.entry,
      ]
    }

    nonisolated(unsafe) static let timerType = UnsafeRawPointer(
      RuntimeSymbol.address(of: "_dispatch_source_type_timer"))

    private static let sourceCreate: Interposed<Create> = Interposed("dispatch_source_create") {
      type, handle, mask, queue in
      let source = sourceCreate.original(type, handle, mask, queue)
      if type != timerType { OutsideWork.sourceBegins() }
      guard let source, let owner else { return source }
      if case .networking = ThreadContext.current?.pointee.purpose { return source }
      let isTimer = type == timerType
      let known = TestDispatchSource(source, isTimer: isTimer, on: queue, of: owner)
      DispatchSourceRegistry.add(known, for: source)
      if !isTimer { setRegistrationHandler(of: source, known.registrationHandler(nil)) }
      return source
    }

    private static let setTimer: Interposed<SetTimer> = Interposed("dispatch_source_set_timer") {
      source, start, interval, leeway in
      let known = DispatchSourceRegistry.find(source)
      if known?.set(start, interval) == true { return }
      RealSleeps.begin(blockAt: start, of: known?.owner)
      dispatch_source_set_timer(source, start, interval, leeway)
    }

    private static let setHandler: Interposed<SetHandler> = Interposed(
      "dispatch_source_set_event_handler"
    ) { source, block in
      let known = DispatchSourceRegistry.find(source)
      if let known, let block, !known.isTimer, HandedBlock(block).library != nil {
        DispatchSourceRegistry.remove(source)?.wasReleased()
        return setHandler.original(source, block)
      }
      let replacement = known?.handler(block)
      setHandler.original(source, known == nil ? block : replacement?.pointer)
      replacement?.release()
    }

    private static let setRegistrationHandler: Interposed<SetHandler> = Interposed(
      "dispatch_source_set_registration_handler"
    ) { source, block in
      guard let known = DispatchSourceRegistry.find(source) else {
        return setRegistrationHandler.original(source, block)
      }
      setRegistrationHandler(of: source, known.registrationHandler(block))
    }

    private static func setRegistrationHandler(of source: OpaquePointer, _ block: HandedBlock?) {
      setRegistrationHandler.original(source, block?.pointer)
      block?.release()
    }

    private static let setCancelHandler: Interposed<SetHandler> = Interposed(
      "dispatch_source_set_cancel_handler"
    ) { source, block in
      let known = DispatchSourceRegistry.find(source)
      let replacement = known?.cancelHandler(block)
      setCancelHandler.original(source, known == nil ? block : replacement?.pointer)
      replacement?.release()
    }

    static var sourceStates: [CallTables.Entry] {
      [activate.entry, resume.entry, suspend.entry, cancel.entry, release.entry]
    }

    private static let activate: Interposed<OfObject> = Interposed("dispatch_activate") {
      DispatchSourceRegistry.find($0)?.activate()
      SuspendedQueues.willResume($0)
      activate.original($0)
    }

    private static let resume: Interposed<OfObject> = Interposed("dispatch_resume") {
      DispatchSourceRegistry.find($0)?.resume()
      SuspendedQueues.willResume($0)
      resume.original($0)
    }

    private static let suspend: Interposed<OfObject> = Interposed("dispatch_suspend") {
      DispatchSourceRegistry.find($0)?.suspend()
      suspend.original($0)
      SuspendedQueues.wasSuspended($0)
    }

    private static let cancel: Interposed<OfObject> = Interposed("dispatch_source_cancel") {
      DispatchSourceRegistry.find($0)?.cancel()
      cancel.original($0)
    }

    private static let release: Interposed<OfObject> = Interposed("dispatch_release") {
      DispatchSourceRegistry.remove($0)?.wasReleased()
      release.original($0)
    }
  }
#endif
