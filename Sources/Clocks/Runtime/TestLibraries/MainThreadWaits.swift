import ClocksSupport
import Synchronization

#if os(Linux) && canImport(Glibc)
  internal import CDispatch
#endif

/// An owner whose tasks run while a test method on the main thread waits.
protocol PausableOwner: TaskOwner {
  var virtualNow: Duration { get }
  /// The number of sleeps and timed callbacks that are pending.
  var pendingCount: Int { get }

  /// Notes that a paused job goes on, as an externally started one.
  func resumeJob()
  /// Keeps time from jumping, until `endShortHold`.
  func beginShortHold()
  func endShortHold()
}

/// The waits of a synchronous test method, which takes up the main thread.
///
/// Each wait pauses the method's job. `XCTWaiter` runs the run loop in slices of a tenth of a second, and ends
/// them by its own reading of the date; its watchdog would come a quarter of a second after the timeout. So the
/// watchdog is left out, and its instant is the deadline of the slices.
///
/// A method may wait for a thread or a socket, whose end nothing announces. So a timeout comes only after some
/// slices of real time without any other pending work. This is a guess. It is made only for suites that were not
/// written for virtual time (`Everywhere`).
///
/// Source: `XCTWaiter.swift` and `WaiterManager.swift` of swift-corelibs-xctest, as of Swift 6.3.
final class MainThreadWaits: @unchecked Sendable {
  private static let context = Atomic<UInt>(0)
  /// Only the main thread uses it.
  nonisolated(unsafe) private static var current: MainThreadWaits?

  /// Those of the method that the current thread runs, if it runs one.
  @inline(__always)
  static var ofThread: MainThreadWaits? {
    let context = context.load(ordering: .relaxed)
    guard context != 0, UInt(bitPattern: ThreadContext.current) == context else { return nil }
    return current
  }

  private let owner: any PausableOwner
  private let place: UnsafeMutablePointer<ThreadContext>
  /// The deadlines of the waits of XCTest that are under way, the innermost last.
  private var deadlines: [Duration] = []
  /// Counts the slices in a row in which nothing was pending but the timeout.
  private var quietSlices = 0

  init(_ owner: any PausableOwner, _ context: UnsafeMutablePointer<ThreadContext>) {
    self.owner = owner
    place = context
  }

  func run(_ function: () -> Void) {
    let outer = (Self.current, Self.context.load(ordering: .relaxed))
    Self.current = self
    Self.context.store(UInt(bitPattern: place), ordering: .relaxed)
    function()
    Self.current = outer.0
    Self.context.store(outer.1, ordering: .relaxed)
  }

  private var now: Duration { owner.virtualNow }

  /// 0 while the method runs, 1 while it is paused, and 2 when it is about to go on.
  private let phase = Atomic(0)
  /// The semaphore for which the method waits.
  private let semaphore = Atomic<UInt>(0)

  /// Runs `wait` while the scope's tasks run.
  func paused<Result>(_ wait: () -> Result) -> Result {
    phase.store(1, ordering: .sequentiallyConsistent)
    owner.externallyStartedJobEnded(on: nil)
    let result = wait()
    resume()
    phase.store(0, ordering: .sequentiallyConsistent)
    return result
  }

  /// Notes that the method goes on, before the main thread notices: until then, time does not move.
  private func resume() {
    guard
      phase.compareExchange(expected: 1, desired: 2, ordering: .sequentiallyConsistent).exchanged
    else { return }
    owner.resumeJob()
  }

  /// Notes that the run loop of the main thread is stopped, or that a semaphore is signalled.
  static func willResume(from semaphore: OpaquePointer? = nil) {
    guard context.load(ordering: .relaxed) != 0, let current else { return }
    let awaited = current.semaphore.load(ordering: .relaxed)
    guard awaited == UInt(bitPattern: semaphore) else { return }
    current.resume()
  }

  /// Waits for a semaphore in `wait`.
  func paused(on semaphore: OpaquePointer, _ wait: () -> Int) -> Int {
    self.semaphore.store(UInt(bitPattern: semaphore), ordering: .relaxed)
    defer { self.semaphore.store(0, ordering: .relaxed) }
    return paused(wait)
  }

  // MARK: - Run loops

  /// Runs the run loop for up to some virtual time, and less real time.
  func runLoop(_ seconds: Double, _ run: (Double) -> Int32) -> Int32 {
    let now = now
    var deadline = saturatingSum(now, .seconds(max(0, min(seconds, 1e12))))
    let isSlice = seconds < 0.101 && !deadlines.isEmpty
    if isSlice { deadline = deadlines[deadlines.count - 1] }
    // An async method is waited for by a wait without an end.
    let isEndless = deadline - now > .seconds(86_400 * 29)
    let callback = isEndless ? nil : TimedCallback("run loop", begin: endWait) { _ in }
    if let callback { _ = owner.enqueue(callback, after: deadline - now) }
    // While nothing else is pending, the wait may be for real work: a timeout would come too early.
    let isQuiet = owner.pendingCount <= 1
    let isHeld = callback != nil && isQuiet && quietSlices < 12
    if isHeld { owner.beginShortHold() }
    let real = isHeld && quietSlices == 0 ? 0.001 : 0.01
    let result = paused { run(min(seconds, real)) }
    if isHeld { owner.endShortHold() }
    if let callback { owner.remove(callback) }
    quietSlices = isQuiet && result == Self.timedOut ? quietSlices + 1 : 0
    return result
  }

  /// `kCFRunLoopRunTimedOut`
  private static let timedOut: Int32 = 3

  @Sendable private func endWait() {
    resume()
    RuntimeHooks.startThread(on: .main) {}
  }

  // MARK: - XCTest's own queues

  #if os(Linux) && canImport(Glibc)
    /// Whether the watchdog of a wait is left out, which is to begin on a queue at an instant.
    func leavesOut(workOn queue: OpaquePointer, at instant: UInt64) -> Bool {
      guard DispatchObject.label(of: queue) == "org.swift.XCTest.XCTWaiter" else { return false }
      let delay =
        DispatchTimes.delay(until: instant, for: owner) ?? .seconds(86_400 * 365)
      deadlines.append(saturatingSum(now, delay - .milliseconds(250)))
      quietSlices = 0
      return true
    }
  #endif

  /// Runs work of XCTest on a queue, which begins or ends a wait.
  func runManaging(_ work: () -> Void) {
    let count = deadlines.count
    work()
    if deadlines.count == count { _ = deadlines.popLast() }
  }

  // MARK: - Sleeps

  /// Blocks the main thread for a virtual duration.
  func sleep(for duration: Duration) {
    let end = ThreadSemaphore()
    let begin: @Sendable () -> Void = { [self] in
      resume()
      end.signal()
    }
    let callback = TimedCallback("a blocked thread", begin: begin) { _ in end.signal() }
    guard owner.enqueue(callback, after: duration) else { return }
    paused { end.wait() }
  }
}

/// A semaphore whose waits block the thread, unseen by the package's own hooks.
final class ThreadSemaphore: Sendable {
  #if os(Linux) && canImport(Glibc)
    nonisolated(unsafe) private let semaphore = dispatch_semaphore_create(0)

    func signal() { dispatch_semaphore_signal(semaphore) }
    func wait() { _ = dispatch_semaphore_wait(semaphore, .max) }
  #else
    func signal() {}
    func wait() {}
  #endif
}

/// The run loop of the current thread, which Foundation has.
enum MainRunLoop {
  private typealias Run = @convention(c) (UnsafeRawPointer?, Double, Bool) -> Int32

  private static let run = RuntimeSymbol.function("CFRunLoopRunInMode", as: Run.self)
  nonisolated(unsafe) private static let mode = RuntimeSymbol.address(of: "kCFRunLoopDefaultMode")?
    .load(as: UnsafeRawPointer.self)

  static func run(seconds: Double) { _ = run?(mode, seconds, true) }
}

#if os(Linux) && canImport(Glibc)
  /// The functions that block a thread for a duration: virtual in a synchronous test method.
  enum ThreadSleeps {
    /// To be called once, while the process has one thread.
    static func redirect() {
      for entry in [nanosleep.entry, usleep.entry, sleep.entry] {
        CallTables.redirect([entry], in: .users)
      }
      CallTables.redirect([uptime.entry], in: .library("libFoundation.so"))
      CallTables.redirect([stop.entry], in: .users)
      CallTables.redirect([signal.entry], in: .library("libswiftDispatch.so"))
    }

    /// `XCTWaiter` stops the run loop when its expectations are fulfilled.
    private static let stop: Interposed<@convention(c) (UnsafeRawPointer?) -> Void> = Interposed(
      "CFRunLoopStop"
    ) {
      MainThreadWaits.willResume()
      stop.original($0)
    }

    private static let signal: Interposed<@convention(c) (OpaquePointer) -> Int> = Interposed(
      "dispatch_semaphore_signal"
    ) {
      MainThreadWaits.willResume(from: $0)
      return signal.original($0)
    }

    /// `Thread.sleep` reads this clock after each sleep, and sleeps again until its duration has passed.
    private static let uptime: Interposed<@convention(c) () -> Double> = Interposed(
      "CFGetSystemUptime"
    ) {
      guard MainThreadWaits.ofThread != nil, let owner = ThreadContext.runningOwner,
        let reading = owner.reading(of: CLOCK_MONOTONIC, isDate: false)
      else { return uptime.original() }
      return Double(reading.tv_sec) + 1e-9 * Double(reading.tv_nsec)
    }

    private typealias Nanosleep =
      @convention(c) (UnsafePointer<timespec>?, UnsafeMutablePointer<timespec>?) -> CInt

    private static let nanosleep: Interposed<Nanosleep> = Interposed("nanosleep") {
      duration, rest in
      guard let waits = MainThreadWaits.ofThread, let duration else {
        return nanosleep.original(duration, rest)
      }
      waits.sleep(
        for: .seconds(duration.pointee.tv_sec) + .nanoseconds(duration.pointee.tv_nsec))
      return 0
    }

    private static let usleep: Interposed<@convention(c) (CUnsignedInt) -> CInt> = Interposed(
      "usleep"
    ) {
      guard let waits = MainThreadWaits.ofThread else { return usleep.original($0) }
      waits.sleep(for: .microseconds(Int64($0)))
      return 0
    }

    private static let sleep: Interposed<@convention(c) (CUnsignedInt) -> CUnsignedInt> =
      Interposed("sleep") {
        guard let waits = MainThreadWaits.ofThread else { return sleep.original($0) }
        waits.sleep(for: .seconds(Int64($0)))
        return 0
      }
  }
#endif
