// The Swift runtime and Foundation read the system's clocks through one function of the C library,
// `clock_gettime`. A test binary puts ours in its place in the call tables of these two libraries and
// of no other: Dispatch, the C library itself and everybody else go on reading real time.

import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Makes `ContinuousClock`, `SuspendingClock` and `Date` read virtual time inside a scope, and real
/// time everywhere else. Only a test binary does so; without one, only a scope that is explored.
package enum RuntimeClocks {
  /// Whether the runtime's clocks read virtual time for an owner's tasks.
  static func areVirtual(for owner: TaskOwner?) -> Bool {
    guard let owner, owner.isExplored || isForAll.load(ordering: .relaxed) else { return false }
    return redirected.load(ordering: .relaxed)
  }

  /// Whether they do so in every scope.
  static var areRedirected: Bool {
    redirected.load(ordering: .relaxed) && isForAll.load(ordering: .relaxed)
  }

  /// Whether they ask us.
  private static let redirected = Atomic(false)
  /// Whether they do so for every scope; changed by tests alone after the process has begun.
  static let isForAll = Atomic(false)

  /// Has the runtime's clocks, and `Date`, ask us for the time in every scope, where that is possible. To
  /// be called once, while there is only one thread.
  package static func redirect() {
    isForAll.store(true, ordering: .relaxed)
    // What stands in the functions' places asks for it on any thread, perhaps before the door is opened.
    ThreadContext.prepare()
    redirectForExplored()
    #if os(Linux) && canImport(Glibc)
      FoundationWaits.redirect()
    #endif
  }

  /// The same in scopes that are explored: a deadline that is computed from real time would be a little
  /// different in each run. It is done once. Thread-safe.
  static func redirectForExplored() { _ = isDone }

  private static let isDone: Bool = {
    #if os(Linux) && canImport(Glibc)
      let time = unsafeBitCast(readRuntimeClock as ClockFunction, to: UnsafeRawPointer.self)
      let isRedirected = CallTables.redirect(
        "clock_gettime", in: "libswift_Concurrency.so", to: time)
      redirected.store(isRedirected, ordering: .relaxed)
      let date = unsafeBitCast(readDate as ClockFunction, to: UnsafeRawPointer.self)
      _ = CallTables.redirect("clock_gettime", in: "libFoundationEssentials.so", to: date)
    #endif
    return true
  }()
}

#if os(Linux) && canImport(Glibc)
  private typealias ClockFunction =
    @convention(c) (clockid_t, UnsafeMutablePointer<timespec>) -> CInt

  /// What the runtime calls for one of its clocks.
  private func readRuntimeClock(
    _ clock: clockid_t, into result: UnsafeMutablePointer<timespec>
  ) -> CInt {
    read(clock, isDate: false, into: result)
  }

  /// What Foundation calls, for the date and for other things.
  private func readDate(_ clock: clockid_t, into result: UnsafeMutablePointer<timespec>) -> CInt {
    read(clock, isDate: true, into: result)
  }

  /// Reads virtual time for a job whose time is virtual, and else the clock.
  private func read(
    _ clock: clockid_t, isDate: Bool, into result: UnsafeMutablePointer<timespec>
  ) -> CInt {
    guard
      !isDate || clock == CLOCK_REALTIME,
      let context = ThreadContext.current, context.pointee.isInJob,
      let owner = RuntimeHooks.runningOwner, RuntimeClocks.areVirtual(for: owner),
      let reading = owner.reading(of: clock, isDate: isDate)
    else { return clock_gettime(clock, result) }
    result.pointee = reading
    return 0
  }
#endif
