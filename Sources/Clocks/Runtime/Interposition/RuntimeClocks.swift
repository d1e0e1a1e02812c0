// The Swift runtime and Foundation read the system's clocks through a function of the C library, `clock_gettime`. A
// test process replaces it in the call tables of these two libraries. In unedited suites, it also replaces it in the
// test bundle's call table. Dispatch, the C library and all other code still read real time.
//
// Waits in Foundation take real time, and end at a date. In a scope that date was computed from virtual time. So
// the replacements of the functions by which Foundation waits correct the date.
//
// | function | called by |
// |---|---|
// | `CFAbsoluteTimeGetCurrent` | `NSDate`; run loops and their timers, to compute how long they wait |
// | `CFRunLoopRunInMode` | run loops: the time that a job spends in them is counted |
// | `pthread_cond_timedwait` | `NSCondition.wait(until:)`, `NSConditionLock.lock(before:)` |
// | `pthread_mutex_timedlock` | `NSLock.lock(before:)`, `NSRecursiveLock.lock(before:)` |
//
// Sources: swift-corelibs-foundation, `RunLoop.swift`, `Timer.swift`, `NSLock.swift`.

import ClocksSupport
import Synchronization

/// Makes `ContinuousClock`, `SuspendingClock` and `Date` read virtual time inside a scope.
///
/// With the test kit, they do so inside every scope; without it, only inside explored scopes.
package enum RuntimeClocks {
  static func areVirtual(for owner: TaskOwner) -> Bool {
    (owner.isExplored || isForAll.load(ordering: .relaxed)) && redirected.clocks
  }

  /// Descriptions of the reads and waits that are real although they should be virtual in every scope.
  static var missing: [String] {
    guard isForAll.load(ordering: .relaxed) else {
      return isUnprepared ? [unpreparedReads] : []
    }
    let reads = unseen(
      (redirected.clocks, "reads of ContinuousClock"), (redirected.dates, "reads of Date"))
    #if os(Linux) && canImport(Glibc)
      return reads + LostCalls.missing + (ThreadWaits.areSeen ? MainRunLoop.missing : [])
    #else
      return reads
    #endif
  }

  /// Whether the process runs tests with the test kit, although its arguments at load did not show that.
  private static var isUnprepared: Bool {
    #if os(Linux) && canImport(Glibc)
      CompiledSwiftTesting.registered != nil && TestLibraries.mayBeRunning
    #else
      false
    #endif
  }

  private static let unpreparedReads = """
    reads of ContinuousClock and Date (the process did not show at its start that it runs tests: let the name of \
    the executable end in .xctest, or pass it --testing-library and the library)
    """

  /// Whether every scope reads virtual time, and not only explored ones. Set at load; later only tests change it.
  static let isForAll = Atomic(false)

  /// Redirects the clocks in every scope. Must be called once, while there is only one thread.
  package static func redirect() {
    isForAll.store(true, ordering: .relaxed)
    // Any thread may call the replacements, even before the hooks are installed. They need the key of the threads'
    // states.
    ThreadState.prepare()
    redirectForExplored()
    #if os(Linux) && canImport(Glibc)
      // Initializes what a reading uses: a signal handler must not wait for an initialization that it interrupts.
      _ = SystemClocks().reading(of: CLOCK_MONOTONIC_COARSE, after: .zero)
      FoundationWaits.redirect()
      ThreadRunLoops.redirect()
    #endif
  }

  /// Redirects the clocks in explored scopes. Only the first call has an effect. Thread-safe.
  ///
  /// Deadlines that are computed from real time would differ from run to run.
  static func redirectForExplored() { _ = redirected }

  private static let redirected: (clocks: Bool, dates: Bool) = {
    #if os(Linux) && canImport(Glibc)
      (
        CallTables.redirect([readClock.entry], in: .library("libswift_Concurrency.so")),
        CallTables.redirect([readClock.entry], in: .library("libFoundationEssentials.so"))
      )
    #else
      (false, false)
    #endif
  }()
}

#if os(Linux) && canImport(Glibc)
  extension RuntimeClocks {
    typealias ReadClock =
      @convention(c) (clockid_t, UnsafeMutablePointer<timespec>) -> CInt

    /// Makes the test bundle itself read virtual time, in an unedited suite.
    ///
    /// A bundle that contains this package reads real time, because the package does. Must be called once, while the
    /// process has one thread.
    static func redirectTestBundle() {
      guard LoadedImage.ofThisModule?.base != LoadedImage.testBundle?.base else { return }
      let entries = [readClock.entry, readTimeOfDay.entry, readSeconds.entry]
      _ = CallTables.redirectEach(entries, in: .testBundle)
      LostCalls.noteMissing(entries)
      isTestBundleVirtual = true
    }

    private static let readTimeOfDay:
      Interposed<
        @convention(c) (UnsafeMutablePointer<timeval>?, UnsafeMutableRawPointer?) -> CInt
      > = Interposed("gettimeofday") { result, _ in
        let date = date
        result?.pointee = timeval(tv_sec: date.tv_sec, tv_usec: date.tv_nsec / 1_000)
        return 0
      }

    private static let readSeconds:
      Interposed<@convention(c) (UnsafeMutablePointer<time_t>?) -> time_t> = Interposed("time") {
        let seconds = date.tv_sec
        $0?.pointee = seconds
        return seconds
      }

    private static var date: timespec {
      var date = timespec()
      _ = read(CLOCK_REALTIME, into: &date)
      return date
    }

    /// A date as Foundation computes it, with the arithmetic of `Date`, so that the results are equal.
    static func secondsSince2001(_ date: timespec) -> Double {
      Double(date.tv_sec) - secondsFrom1970To2001 + 1e-9 * Double(date.tv_nsec)
    }

    private static let secondsFrom1970To2001 = 978_307_200.0

    /// Whether the test bundle reads virtual time.
    nonisolated(unsafe) private(set) static var isTestBundleVirtual = false

    /// Foundation reads the date, and the uptime for `ProcessInfo`.
    private static let readClock: Interposed<ReadClock> = Interposed("clock_gettime") {
      read($0, into: $1)
    }

    /// May be called in a signal handler, like the function that it replaces.
    private static func read(
      _ clock: clockid_t, into result: UnsafeMutablePointer<timespec>
    ) -> CInt {
      guard let owner = ThreadContext.ownerOfReader, areVirtual(for: owner) else {
        // Does not call the original, because `NondeterminismHooks` may redirect this call, to report it.
        return clock_gettime(clock, result)
      }
      owner.timePassesWithReading()
      guard let reading = owner.reading(of: clock) else {
        return clock_gettime(clock, result)
      }
      result.pointee = reading
      return 0
    }
  }

  /// The waits of Foundation. They take real time even in a scope, except in an unedited suite.
  enum FoundationWaits {
    /// Redirects the waits of Foundation, so that each takes its full duration in real time.
    ///
    /// Foundation computes the end of a wait from the date, and the date in a scope is virtual. Must be
    /// called once, while the process has one thread.
    static func redirect() {
      CallTables.redirect(
        [present.entry, runLoop.entry, wait.entry, lock.entry], knownIn: "libFoundation.so")
    }

    /// Adds the job's time in run loops to the virtual date. Otherwise a run loop would never see its wait end.
    private static let present: Interposed<@convention(c) () -> Double> = Interposed(
      "CFAbsoluteTimeGetCurrent"
    ) {
      guard let date = virtualDate, let context = ThreadContext.current else {
        return present.original()
      }
      return RuntimeClocks.secondsSince2001(date)
        + Double(context.pointee.runLoops.nanoseconds) / 1e9
    }

    /// In unedited suites, the test bundle's own calls are replaced, too.
    static let runLoop: Interposed<@convention(c) (UnsafeRawPointer?, Double, Bool) -> Int32> =
      Interposed(
        "CFRunLoopRunInMode"
      ) { mode, seconds, returnsAfterOneSource in
        guard let context = ThreadContext.current, virtualDate != nil else {
          return runLoop.original(mode, seconds, returnsAfterOneSource)
        }
        if let waits = ThreadWaits.ofXCTest ?? ThreadWaits.ofAnyKind {
          return waits.runInnerLoop(seconds, endsAfterSource: returnsAfterOneSource) {
            runLoop.original(mode, $0, returnsAfterOneSource)
          }
        }
        context.pointee.runLoops.begin()
        defer { context.pointee.runLoops.end() }
        return runLoop.original(mode, seconds, returnsAfterOneSource)
      }

    private typealias Wait =
      @convention(c) (
        UnsafeMutablePointer<pthread_cond_t>, UnsafeMutablePointer<pthread_mutex_t>,
        UnsafePointer<timespec>
      ) -> CInt

    private static let wait: Interposed<Wait> = Interposed("pthread_cond_timedwait") {
      condition, mutex, date in
      if let present = virtualDate,
        let result = ConditionWait.wait(
          for: condition, mutex, until: date.pointee, from: present)
      {
        return result
      }
      var real = realDate(date.pointee)
      return pthread_cond_timedwait(condition, mutex, &real)
    }

    private typealias Lock =
      @convention(c) (UnsafeMutablePointer<pthread_mutex_t>, UnsafePointer<timespec>) -> CInt

    private static let lock: Interposed<Lock> = Interposed("pthread_mutex_timedlock") {
      mutex, date in
      var real = realDate(date.pointee)
      return pthread_mutex_timedlock(mutex, &real)
    }

    /// Returns the date that is as far from the real present as `date` is from the scope's virtual present.
    private static func realDate(_ date: timespec) -> timespec {
      guard let virtualDate else { return date }
      let now = timespec(readingOf: CLOCK_REALTIME)
      let real = date.duration - virtualDate.duration + now.duration
      return timespec().advanced(by: max(.zero, real))
    }

    /// The virtual date of the current thread; `nil` if the thread reads the real date.
    private static var virtualDate: timespec? {
      if TaskOwnership.shared.isEmpty { return nil }
      return ThreadContext.ownerOfJob?.reading(of: CLOCK_REALTIME)
    }
  }
#endif
