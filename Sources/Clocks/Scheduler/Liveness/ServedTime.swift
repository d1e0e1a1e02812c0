import ClocksSupport
import Synchronization

/// Real time, less the time in which a busy machine kept the process waiting.
///
/// On a busy machine a thread may come half a minute late, and a job that waits for it looks blocked. So the limits
/// for what seems to hang are measured in served time. At least a sixteenth of real time counts, so each limit is
/// reached: one of 30 seconds takes at most eight minutes, and that only if the machine is busy all the time.
struct ServedTime {
  private let start = RealTime(in: .zero)
  private let withheldBefore: UInt64

  /// The total real time that does not count as served time, in nanoseconds.
  private static let total = Atomic<UInt64>(0)

  /// Notes the present, and how much was withheld before it, including by the watchdog's present interval.
  ///
  /// A check that writes a report may take seconds, and an instant may be noted after that in the same check. If these
  /// seconds were withheld from the instant, and only a sixteenth of real time counted, it would take sixteen times as
  /// long to make up for them.
  init() {
    // `total` is read before `nextCheck`. In the other order, thread B could begin a check in between. Then thread A,
    // the current one, would add the time before that check to a sum that has it already.
    let total = Self.total.load(ordering: .acquiring)
    let nextCheck = Self.nextCheck.load(ordering: .relaxed)
    // The interval under way will withhold at least this much of the time before the instant.
    let late = max(start.nanoseconds, nextCheck) - nextCheck
    withheldBefore = total + late - Self.leastServed(of: late)
  }

  var nanosecondsSince: UInt64 { start.nanosecondsSince }

  /// Whether at least `duration` of served time has passed since the instant.
  func lasts(_ duration: Duration) -> Bool {
    let real = nanosecondsSince
    return .nanoseconds(Int64(clamping: real - withheld(of: real))) >= duration
  }

  /// How much of the real time since the instant does not count.
  var withheld: Duration { .nanoseconds(Int64(clamping: withheld(of: nanosecondsSince))) }

  /// How much of the real time since the instant does not count, in nanoseconds.
  private func withheld(of real: UInt64) -> UInt64 {
    // Read before `total`. If a check begins in between, its time is withheld twice, until the next reading. In the
    // other order it might not be withheld at all, and a limit would seem to be reached.
    let sinceCheckIsMissing = sinceCheckIsMissing
    let sum = Self.total.load(ordering: .relaxed)
    // `withheldBefore` includes a part of the interval that was under way. Until that interval ends, the sum lacks this
    // part, and may be smaller.
    let total = sum - min(sum, withheldBefore)
    return min(total + sinceCheckIsMissing - Self.leastServed(of: sinceCheckIsMissing), real)
  }

  /// The part of real time that counts in any case.
  fileprivate static func leastServed(of real: UInt64) -> UInt64 { real / 16 }

  /// Begins a check of the watchdog, and withholds the part of the interval since the last check that does not count.
  static func checkBegins(withholding nanoseconds: UInt64, nextIn interval: Duration) {
    // `init` must not see the new sum with the old instant of the next check.
    nextCheck.store(RealTime(in: interval).nanoseconds, ordering: .relaxed)
    total.add(nanoseconds, ordering: .releasing)
    missingFrom.store(RealTime(in: interval + .seconds(1)).nanoseconds, ordering: .releasing)
  }

  /// When the watchdog's next check is due, in nanoseconds as in `RealTime`; `.max` before its first check.
  private static let nextCheck = Atomic<UInt64>(.max)

  /// When the watchdog's next check is more than a second late, in nanoseconds as in `RealTime`; `.max` before its
  /// first check.
  private static let missingFrom = Atomic<UInt64>(.max)

  /// How much of the time since the instant has passed while a check was more than a second late, in nanoseconds.
  ///
  /// Of that time only a sixteenth counts before the check finds how much of it does. A check that writes a report may
  /// take half a minute on a busy machine. A job that began shortly before must not be reported because of that.
  private var sinceCheckIsMissing: UInt64 {
    let missing = RealTime(nanoseconds: Self.missingFrom.load(ordering: .acquiring))
    return max(missing, start).nanosecondsSince
  }
}

/// Measures, between two checks of the watchdog, how long the process was kept waiting.
///
/// Only the watchdog's timer uses it.
struct MachineLoad {
  /// The measurements between two checks. All durations are in nanoseconds.
  struct Interval {
    /// How long the interval should have been.
    var planned: UInt64
    var real: UInt64
    /// The processor time that the process has used.
    var run: UInt64
    /// How long each thread of the process was ready without a processor.
    var waits: [UInt64]
    /// Whether Dispatch has started a thread for a block that waited since the beginning of the interval.
    var hasServedBlock: Bool

    /// Whether the process used almost no processor time: threads that wait for each other need none.
    ///
    /// On a busy machine, a thread that does little waits for a processor, too, but not for most of the time.
    var isQuiet: Bool { run < real / 50 && waits.allSatisfy { $0 < real / 2 } }

    /// The part of the interval that does not count.
    var withheld: UInt64 {
      var share = isQuiet ? 1 : Double(run) / Double(max(1, run + waits.reduce(0, +)))
      if !isQuiet, !hasServedBlock { share = 0 }
      let served = Double(min(real, planned)) * share
      return real - min(real, max(ServedTime.leastServed(of: real), UInt64(served)))
    }

    /// The part of the served time for which each of `tests` tests has run, if they shared the processors equally.
    func runningTime(ofEachOf tests: Int) -> Duration {
      let processors = max(1, Double(run) / Double(max(1, real)))
      let share = min(1, processors / Double(max(1, tests)))
      return .nanoseconds(Int64(Double(real - withheld) * share))
    }
  }

  private var since = RealTime(in: .zero)
  /// The sum of the durations that were planned since `since`.
  private var planned = Duration.zero
  private var run = Self.processorTime
  private var waits = Self.waits
  /// Whether the pool was blocked when a block was submitted last.
  private var wasBlocked = false
  /// Set when Dispatch starts a thread for a block, and cleared when the next block is submitted.
  private static let hasServedBlock = Atomic(true)

  /// Ends an interval, returns it and begins the next one. Returns `nil` if the interval is too short and continues.
  mutating func next(planned duration: Duration) -> Interval? {
    planned += duration
    guard since.lasts(.milliseconds(50)) else { return nil }
    let hasServed = Self.hasServedBlock.load(ordering: .acquiring)
    let (now, waits) = (Self.processorTime, Self.waits)
    defer {
      (since, run, self.waits) = (RealTime(in: .zero), now, waits)
      planned = .zero
    }
    let interval = Interval(
      planned: UInt64(clamping: Int64(clamping: planned.attoseconds / 1_000_000_000)),
      real: since.nanosecondsSince,
      run: now - min(now, run),
      waits: waits.map { thread, wait in wait - min(wait, self.waits[thread] ?? 0) },
      hasServedBlock: hasServed)
    // A block that was submitted before the pool was blocked may never begin.
    let isBlocked = RuntimeHooks.isPoolBlocked.load(ordering: .relaxed)
    if hasServed || isBlocked != wasBlocked {
      wasBlocked = isBlocked
      Self.hasServedBlock.store(false, ordering: .relaxed)
      UnownedJobs.afterReadyWork { Self.hasServedBlock.store(true, ordering: .releasing) }
    }
    return interval
  }

  #if !canImport(CRT) && !canImport(WASILibc)
    /// The processor time that the process has used so far, without that of the watchdog, whose thread calls this.
    static var processorTime: UInt64 {
      let all = reading(of: CLOCK_PROCESS_CPUTIME_ID)
      var own = own.load(ordering: .relaxed)
      let began = checkBegan.load(ordering: .relaxed)
      let now = reading(of: CLOCK_THREAD_CPUTIME_ID)
      if began > 0 { own += now - min(now, began) }
      return all - min(all, own)
    }

    /// The processor time that the watchdog has used in checks that are over.
    private static let own = Atomic<UInt64>(0)
    /// The processor time of the watchdog's thread when its check began; 0 if none is under way.
    private static let checkBegan = Atomic<UInt64>(0)

    /// Runs a check of the watchdog. `processorTime` leaves out the processor time that it uses.
    static func withoutCounting(_ check: () -> Void) {
      let before = reading(of: CLOCK_THREAD_CPUTIME_ID)
      checkBegan.store(before, ordering: .relaxed)
      check()
      checkBegan.store(0, ordering: .relaxed)
      own.add(reading(of: CLOCK_THREAD_CPUTIME_ID) - before, ordering: .relaxed)
    }

    private static func reading(of clock: clockid_t) -> UInt64 {
      UInt64(timespec(readingOf: clock).nanoseconds)
    }
  #else
    /// The processor time is not known, so each interval counts as long as it was planned.
    static var processorTime: UInt64 { 0 }

    static func withoutCounting(_ check: () -> Void) { check() }
  #endif

  /// Whether something outside the process may make one of its threads continue, as far as that can be seen.
  ///
  /// Signs of this are a connection, a child process, or a thread in a system call other than a wait for other
  /// threads.
  static var mayOutsideAct: Bool {
    #if os(Linux) && arch(x86_64)
      let threads = ProcFileSystem.threads
      guard ProcFileSystem.ThreadFile.syscall.isShown, ProcFileSystem.ThreadFile.children.isShown,
        threads.allSatisfy({ ProcFileSystem.words(of: $0, in: .children).isEmpty }),
        !ProcFileSystem.areSocketsNew
      else { return true }
      // The system calls in which a thread waits for other threads: `pause`, `rt_sigtimedwait`, `rt_sigsuspend`,
      // `futex`, `epoll_wait`, `epoll_pwait`.
      let waits: Set<String> = ["34", "128", "130", "202", "232", "281", "running"]
      // The main thread does not count, because it may be in a run loop.
      var calls = threads.filter { $0 != getpid() }
        .compactMap { ProcFileSystem.words(of: $0, in: .syscall).first }
        .filter { !waits.contains($0) }
      // 35 is `nanosleep`. The sanitizer's thread sleeps for a tenth of a second again and again.
      if hasSanitizerThread, let place = calls.firstIndex(of: "35") { calls.remove(at: place) }
      // The current thread is always counted, because it is in a `read` call.
      return calls.count > 1
    #else
      return true
    #endif
  }

  #if os(Linux) && arch(x86_64)
    /// Whether ThreadSanitizer has a thread of its own in this process.
    private static let hasSanitizerThread = RuntimeSymbol.address(of: "__tsan_init") != nil
  #endif

  /// How long each thread was ready without a processor so far; empty where the kernel does not tell.
  private static var waits: [Int32: UInt64] {
    var waits: [Int32: UInt64] = [:]
    #if os(Linux)
      for thread in ProcFileSystem.threads {
        let fields = ProcFileSystem.words(of: thread, in: .schedstat)
        if fields.count > 1 { waits[thread] = UInt64(fields[1]) }
      }
    #endif
    return waits
  }
}
