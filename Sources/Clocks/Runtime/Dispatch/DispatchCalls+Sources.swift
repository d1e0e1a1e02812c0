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
        setRegistrationHandler.entry, activate.entry, resume.entry, suspend.entry, cancel.entry,
        release.entry, mergeData.entry, getData.entry, setTarget.entry,
      ]
    }

    static var areTimersKnown: Bool { kinds.values.contains(.timer) }

    nonisolated(unsafe) private static let kinds: [UnsafeRawPointer: TestDispatchSource.Kind] = {
      let names: [(String, TestDispatchSource.Kind)] = [
        ("_dispatch_source_type_timer", .timer), ("_dispatch_source_type_data_add", .sum),
        ("_dispatch_source_type_data_or", .bits), ("_dispatch_source_type_data_replace", .value),
      ]
      return names.reduce(into: [:]) { kinds, entry in
        if let type = RuntimeSymbol.address(of: entry.0) { kinds[UnsafeRawPointer(type)] = entry.1 }
      }
    }()

    private static let sourceCreate: Interposed<Create> = Interposed("dispatch_source_create") {
      type, handle, mask, queue in
      let source = sourceCreate.original(type, handle, mask, queue)
      let kind = kinds[type] ?? .other
      guard let source else { return nil }
      if kind != .timer { countUntilFreed(source) }
      guard let test = kind.isMerged ? test : owner.map({ .owner($0) }) else { return source }
      if case .networking = ThreadContext.current?.pointee.purpose { return source }
      let known = TestDispatchSource(source, kind, on: queue, of: test)
      DispatchSourceRegistry.add(known, for: source)
      if known.needsRegistration {
        known.setRegistrationHandler(nil) { setRegistrationHandler.original(source, $0) }
      }
      return source
    }

    /// Counts a source as outside work until Dispatch frees it: after its cancellation, and its last release.
    private static func countUntilFreed(_ source: OpaquePointer) {
      OutsideWork.begins()
      guard ThreadWaits.areSleepsSeen else { return }
      // Dispatch calls a finalizer only for an object that has a context. The finalizer does not use it.
      setContext?(source, UnsafeMutableRawPointer(source))
      setFinalizer?(source) { _ in OutsideWork.ends() }
    }

    private static let setContext = RuntimeSymbol.function(
      "dispatch_set_context",
      as: (@convention(c) (OpaquePointer, UnsafeMutableRawPointer) -> Void).self)
    private static let setFinalizer = RuntimeSymbol.function(
      "dispatch_set_finalizer_f",
      as: (@convention(c) (OpaquePointer, @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Void)
        .self)

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
      guard let known = DispatchSourceRegistry.find(source) else {
        return setHandler.original(source, block)
      }
      // A source of `URLSession` or of a test library is not part of the test's work.
      if let block, !known.isTimer, HandedBlock(block).library != nil {
        DispatchSourceRegistry.remove(source)?.wasReleased()
        return setHandler.original(source, block)
      }
      known.setHandler(block, for: \.event) { setHandler.original(source, $0) }
    }

    private static let setRegistrationHandler: Interposed<SetHandler> = Interposed(
      "dispatch_source_set_registration_handler"
    ) { source, block in
      guard let known = DispatchSourceRegistry.find(source) else {
        return setRegistrationHandler.original(source, block)
      }
      known.setRegistrationHandler(block) { setRegistrationHandler.original(source, $0) }
    }

    private static let setCancelHandler: Interposed<SetHandler> = Interposed(
      "dispatch_source_set_cancel_handler"
    ) { source, block in
      guard let known = DispatchSourceRegistry.find(source) else {
        return setCancelHandler.original(source, block)
      }
      known.setHandler(block, for: \.cancellation) { setCancelHandler.original(source, $0) }
    }

    private static let mergeData: Interposed<@convention(c) (OpaquePointer, UInt) -> Void> =
      Interposed("dispatch_source_merge_data") { source, data in
        DispatchSourceRegistry.find(source)?.willMerge(data)
        mergeData.original(source, data)
      }

    private static let getData: Interposed<@convention(c) (OpaquePointer) -> UInt> = Interposed(
      "dispatch_source_get_data"
    ) { DispatchSourceRegistry.find($0)?.timerData ?? getData.original($0) }

    private static let activate: Interposed<OfObject> = Interposed("dispatch_activate") {
      DispatchSourceRegistry.find($0)?.activate()
      SuspendedQueues.willActivate($0)
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

    private typealias SetTarget = @convention(c) (OpaquePointer, OpaquePointer?) -> Void

    /// A source may get another queue until it is activated. The targets of queues are read when blocks are submitted.
    private static let setTarget: Interposed<SetTarget> = Interposed("dispatch_set_target_queue") {
      setTarget.original($0, $1)
      DispatchSourceRegistry.find($0)?.setTarget($1)
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
