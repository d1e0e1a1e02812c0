// What waits in Foundation waits in real time, until a date. In a scope that date was computed from
// virtual time: `Date()` is virtual there. So two functions that Foundation calls through the call table
// of its own library are told the difference.
//
// | function | called by |
// |---|---|
// | `CFAbsoluteTimeGetCurrent` | `NSDate`; run loops and their timers, to compute how long they wait |
// | `CFRunLoopRunInMode` | run loops: the time that a job spends in them is counted |
// | `pthread_cond_timedwait` | `NSCondition.wait(until:)`, `NSConditionLock.lock(before:)`, which give it the date |
//
// Sources: swift-corelibs-foundation, `RunLoop.swift`, `Timer.swift`, `NSLock.swift`.

#if os(Linux) && canImport(Glibc)
  import Glibc

  /// Foundation's waits, which take real time in a scope, too.
  enum FoundationWaits {
    /// Sees to it that they are as long as they say. To be called once, while there is only one thread.
    static func redirect() {
      let run: RunLoopFunction = { FoundationWaits.run($0, $1, $2) }
      let present: Present = { FoundationWaits.present() }
      let wait: Wait = { FoundationWaits.wait($0, $1, $2) }
      guard let present0 = dlsym(nil, "CFAbsoluteTimeGetCurrent"),
        let run0 = dlsym(nil, "CFRunLoopRunInMode")
      else { return }
      originalPresent = unsafeBitCast(present0, to: Present.self)
      originalRun = unsafeBitCast(run0, to: RunLoopFunction.self)
      _ = CallTables.redirect(
        [
          ("CFAbsoluteTimeGetCurrent", unsafeBitCast(present, to: UnsafeRawPointer.self)),
          ("CFRunLoopRunInMode", unsafeBitCast(run, to: UnsafeRawPointer.self)),
          ("pthread_cond_timedwait", unsafeBitCast(wait, to: UnsafeRawPointer.self)),
        ], in: "libFoundation.so")
    }

    private typealias Present = @convention(c) () -> Double
    private typealias Wait =
      @convention(c) (
        UnsafeMutablePointer<pthread_cond_t>, UnsafeMutablePointer<pthread_mutex_t>,
        UnsafePointer<timespec>
      ) -> CInt

    private typealias RunLoopFunction = @convention(c) (UnsafeRawPointer?, Double, Bool) -> Int32

    nonisolated(unsafe) private static var originalPresent: Present = { 0 }
    nonisolated(unsafe) private static var originalRun: RunLoopFunction = { _, _, _ in 0 }

    /// The date that `NSDate` and run loops read, in seconds: the scope's, and the time that the job
    /// has spent in run loops, which else would never see the end of their wait.
    private static func present() -> Double {
      guard let date = virtualDate, let context = ThreadContext.current else {
        return originalPresent()
      }
      // The same arithmetic as that of `Date`.
      return Double(date.tv_sec) - secondsFrom1970To2001 + 1e-9 * Double(date.tv_nsec)
        + Double(context.pointee.runLoops.nanoseconds) / 1e9
    }

    private static let secondsFrom1970To2001 = 978_307_200.0

    /// Runs a run loop, and counts the time that it takes.
    private static func run(_ mode: UnsafeRawPointer?, _ seconds: Double, _ isShort: Bool) -> Int32
    {
      guard let context = ThreadContext.current, virtualDate != nil else {
        return originalRun(mode, seconds, isShort)
      }
      context.pointee.runLoops.begin()
      defer { context.pointee.runLoops.end() }
      return originalRun(mode, seconds, isShort)
    }

    /// Waits as long as the scope's date is from the given one.
    private static func wait(
      _ condition: UnsafeMutablePointer<pthread_cond_t>,
      _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ date: UnsafePointer<timespec>
    ) -> CInt {
      guard let ahead = nanosecondsAhead() else {
        return pthread_cond_timedwait(condition, mutex, date)
      }
      var real = timespec(
        nanoseconds: max(0, date.pointee.nanoseconds.subtractingSaturated(ahead)))
      return pthread_cond_timedwait(condition, mutex, &real)
    }

    /// The date of the current thread's scope; `nil` if it is the real one.
    private static var virtualDate: timespec? {
      guard !TaskOwnership.shared.isEmpty, let context = ThreadContext.current,
        context.pointee.isInJob
      else { return nil }
      return ThreadContext.runningOwner?.reading(of: CLOCK_REALTIME, isDate: true)
    }

    /// How far it is ahead of the real one; `nil` if it is that.
    private static func nanosecondsAhead() -> Int? {
      virtualDate.map { $0.nanoseconds.subtractingSaturated(timespec.date.nanoseconds) }
    }
  }

  extension timespec {
    /// The real date.
    fileprivate static var date: timespec {
      var reading = timespec()
      clock_gettime(CLOCK_REALTIME, &reading)
      return reading
    }

    /// Since 1970; at the end of the range it stays there.
    fileprivate var nanoseconds: Int {
      let (product, overflow) = tv_sec.multipliedReportingOverflow(by: 1_000_000_000)
      guard !overflow else { return tv_sec < 0 ? .min : .max }
      let (sum, isOver) = product.addingReportingOverflow(tv_nsec)
      return isOver ? .max : sum
    }

    fileprivate init(nanoseconds: Int) {
      self.init(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }
  }

  extension Int {
    fileprivate func subtractingSaturated(_ other: Int) -> Int {
      let (difference, overflow) = subtractingReportingOverflow(other)
      return overflow ? (other > 0 ? .min : .max) : difference
    }
  }
#endif
