@_exported import ClocksCore
import ClocksSupport
import Synchronization

/// A clock whose time moves only when a test moves it.
///
/// Pass it to the code under test in place of a `ContinuousClock`, start that code, and advance:
///
/// ```swift
/// actor Reminder<C: Clock> where C.Duration == Duration {
///   let clock: C
///   private(set) var sent: [String] = []
///   init(clock: C) { self.clock = clock }
///
///   func remind(_ text: String, after delay: Duration) async throws {
///     try await clock.sleep(for: delay)
///     sent.append(text)
///   }
/// }
///
/// @Test func remindsAfterAnHour() async {
///   let clock = TestClock()
///   let reminder = Reminder(clock: clock)
///   Task { try await reminder.remind("Tea is ready.", after: .seconds(3600)) }
///
///   await clock.advance(by: .seconds(3599))
///   #expect(await reminder.sent == [])
///   await clock.advance(by: .seconds(1))
///   #expect(await reminder.sent == ["Tea is ready."])
/// }
/// ```
///
/// ## Guarantees
///
/// When ``advance(by:fileID:filePath:line:column:)`` returns, every task of the test has run as far as it
/// can: none is running, and none could run. This holds on a busy machine, too, and for
/// ``settle(fileID:filePath:line:column:)``, ``run(timeout:fileID:filePath:line:column:)``,
/// ``checkSuspension(fileID:filePath:line:column:)`` and
/// ``advanceToNextSleep(fileID:filePath:line:column:)``. The clock does not yield, poll or wait for real
/// time. From the creation of a clock on, a scheduler runs the test's tasks: one job at a time, first in,
/// first out. So the scheduler knows when the test is idle. All this does not hold in a process whose
/// ``SchedulerCapability`` is `patience`; each failure there says so.
///
/// ## The test's tasks
///
/// The task that makes the clock belongs to the test, and so does every task that it starts from then on,
/// directly or not. That includes child tasks, `Task`, `Task.detached`, `Task.immediate`, and the work of
/// default actors and of the main actor. An unowned task joins the test when it sleeps on the clock or
/// advances it. Clocks that are made by the same test share one scheduler. Tests that run in parallel do not
/// affect each other. In Swift Testing, a clock that is made outside any task belongs to the test cases that
/// use it. In XCTest, such a clock, for example a property of an `XCTestCase`, owns all unowned tasks while
/// it is in use.
///
/// ## Limits
///
/// `advance` does not wait for work that the scheduler cannot see: your own threads, sockets, files, other
/// processes, and sleeps on real clocks. Use ``waitForSleeps(atLeast:timeout:)`` for sleeps that such work
/// causes. Where the scheduler can see work on dispatch queues, on shared actors and on custom executors,
/// `advance` waits for it.
///
/// ## Cost
///
/// Registering, waking and cancelling a sleep cost O(log n) with n pending sleeps. The clock has no thread.
/// A clock with durations of a custom type keeps, until it is freed, a few of them for each sleep and advance.
///
/// The idea comes from kotlinx-coroutines-test, tokio's paused clock and Go's `testing/synctest`: a scheduler
/// that runs every task of a test knows when to move time.
public final class TestClock<Duration: DurationProtocol & Hashable>: Clock, Identifiable, Sendable {
  /// A point in a ``TestClock``'s time, as the distance from an arbitrary origin.
  public struct Instant: InstantProtocol {
    /// The distance from the origin.
    public let offset: Duration

    /// Creates the instant at `offset` from the origin; the origin itself by default.
    public init(offset: Duration = .zero) { self.offset = offset }

    /// Returns the instant that is `duration` later. With `Swift.Duration` it saturates. O(1).
    public func advanced(by duration: Duration) -> Self {
      Self(offset: saturatingSum(offset, duration))
    }

    /// Returns how much later `other` is. With `Swift.Duration` it saturates. O(1).
    public func duration(to other: Self) -> Duration { saturatingDifference(other.offset, offset) }

    /// Returns whether the left instant is earlier. O(1).
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.offset < rhs.offset }
  }

  let scheduler: Scheduler
  let virtualClock: VirtualClock
  let origin: CallSite
  /// Guarded by the scheduler's lock.
  nonisolated(unsafe) private var resolution: Duration = .zero
  /// Whether a failure was recorded because a task of another test used the clock. Only the first such use is recorded.
  private let useByOtherTestIsKnown = Atomic(false)

  /// Creates a clock that starts at `now`, for the current test.
  ///
  /// The current task, and every task that it starts from now on, becomes a task of the test. In Swift
  /// Testing, a clock that is made outside any task belongs to the test cases that use it. In XCTest, such a
  /// clock owns all unowned tasks while it is in use. The first clock of a process installs the hooks of the
  /// Swift runtime: see ``SchedulerCapability``. O(1).
  public convenience init(
    now: Instant = .init(),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.init(
      startingAt: now,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  private convenience init(startingAt now: Instant, at origin: CallSite) {
    let scheduler = Scheduler.retainForNewClock(at: origin)
    defer { scheduler.release() }
    self.init(scheduler, .starting(at: now.offset), at: origin)
  }

  init(_ scheduler: Scheduler, _ virtualClock: VirtualClock, at origin: CallSite) {
    self.origin = origin
    scheduler.retain()
    self.scheduler = scheduler
    self.virtualClock = virtualClock
    if virtualClock !== scheduler.scope?.virtualClock {
      scheduler.change { state in
        virtualClock.origin = origin
        state.clocks.add(virtualClock)
      }
    }
    if scheduler.isProcessWide, UnownedTask.currentID != nil { scheduler.noteUse(at: origin) }
    scheduler.addMaker(to: virtualClock.users)
    scheduler.recordIfAskedFor(on: virtualClock)
  }

  deinit {
    // The clock is released without the lock.
    _ = scheduler.change { $0.clocks.remove(virtualClock) }
    scheduler.release()
  }

  /// The clock's time.
  ///
  /// It changes only while the test advances the clock. A task that has just woken from a sleep reads
  /// exactly its deadline. O(1).
  public var now: Instant { instant(scheduler.change { _ in virtualClock.now }) }

  /// Returns the clock's instant for an instant of the scheduler's state, which may be a key.
  func instant(_ key: Swift.Duration) -> Instant { Instant(offset: virtualClock.value(of: key)) }

  /// The resolution that the clock reports: zero, unless a test sets it.
  ///
  /// The value has no effect on the clock, which is exact. A test sets it for code that adapts to its clock,
  /// such as a display that refreshes no more often than the resolution allows. O(1).
  public var minimumResolution: Duration {
    get { scheduler.change { _ in resolution } }
    set {
      // The old value is released without the lock.
      var other = newValue
      scheduler.change { _ in swap(&resolution, &other) }
    }
  }
}

extension TestClock where Duration == Swift.Duration {
  /// Creates a clock that starts at the origin, for the current test.
  ///
  /// Inside
  /// ``withVirtualTime(autoAdvance:jumpsAfter:leftoverSleeps:stuckAfter:freezesDate:runningLimit:fileID:filePath:line:column:operation:)-(_,_,_,_,_,_,_,_,_,_,(VirtualTime)->Result)``
  /// the clock reads the scope's time instead. O(1).
  public convenience init(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let origin = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let scheduler = Scheduler.retainForNewClock(at: origin)
    defer { scheduler.release() }
    // After a scope has ended, its time is not virtual, and the clock gets a time of its own.
    let virtualClock = scheduler.isVirtual ? scheduler.scope?.virtualClock : nil
    self.init(scheduler, virtualClock ?? VirtualClock(now: .zero), at: origin)
  }

  /// Creates a clock that starts at `now`, for the current test, with durations of type `Swift.Duration`.
  ///
  /// Unlike the general initializer, this one needs no type arguments. O(1).
  public convenience init(
    now: Instant,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.init(
      startingAt: now,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }
}

extension TestClock.Instant: OffsetInstant {}

extension TestClock.Instant: CustomStringConvertible {
  /// The distance from the origin, for example `3.0 seconds`.
  public var description: String { "\(offset)" }
}

extension TestClock: CustomStringConvertible, CustomDebugStringConvertible {
  /// The time and the number of pending sleeps, for example `TestClock at 3.0 seconds, 2 pending sleeps`.
  ///
  /// The clock of a scope calls itself `VirtualTime`.
  public var description: String {
    let (now, count) = scheduler.change { _ in (virtualClock.now, virtualClock.sleeps.count) }
    let sleeps =
      switch count {
      case 0: "no pending sleep"
      case 1: "1 pending sleep"
      default: "\(count) pending sleeps"
      }
    return "\(isOfScope ? "VirtualTime" : "TestClock") at \(instant(now)), \(sleeps)"
  }

  /// The ``description``, and a line for each pending sleep, in wake order.
  ///
  /// If the test has other tasks than the caller, a dump of them follows: see ``dump()``. A task outside
  /// the test gets no dump, so that a test library prints little for a clock among a test's arguments.
  public var debugDescription: String {
    let pending = pendingSleeps
    let text = pending.isEmpty ? description : description + ":\n" + pending.listed
    return text.with(scheduler.dumpInDescription)
  }

  /// Describes what each task of the test waits for at this moment, and where.
  ///
  /// ```swift
  /// let clock = TestClock()
  /// let poller = Task(name: "poller") { await Poller(clock).poll() }
  /// await clock.settle()
  /// print(clock.dump())
  /// ```
  ///
  /// prints
  ///
  /// ```
  /// Where the test's 2 tasks are:
  /// - task #15 runs, and requests this dump
  /// - task #33 "poller" sleeps until 2.0 seconds on TestClock
  ///     Poller.pause() at PollerTests.swift:7
  ///     Poller.poll() at PollerTests.swift:6
  ///     closure #1 in PollerTests.waits() at PollerTests.swift:20
  /// ```
  ///
  /// A task has its number and its name; child tasks are listed below their parent. A task sleeps, awaits another task,
  /// its child tasks, a continuation or its turn on an actor, or is ready to run. Cycles of tasks that wait for each
  /// other are marked. Below each task is its async call stack, the innermost function first, without functions of the
  /// test library, the runtime and this package. Tasks that wait in the same place are grouped, and the list of tasks
  /// has about forty lines at most. Blocks on dispatch queues follow, up to ten. Every report of a stuck test contains
  /// the text.
  ///
  /// The function may be called from any thread. For a task that runs at that moment, it shows no call stack.
  /// Source lines come from debug information, which `llvm-symbolizer` of the toolchain or `addr2line` reads.
  /// Without these tools, the text names functions only, and says so. The text also says so if the runtime's
  /// records cannot be read: on Apple's systems, and where ``SchedulerCapability/current`` is the lowest.
  ///
  /// O(tasks and the depth of their call stacks), and 50 to 200 ms of real time for the names. A test that
  /// does not ask for a dump pays nothing.
  ///
  /// The idea comes from Go's goroutine dumps and from kotlinx-coroutines-debug.
  public func dump() -> String { scheduler.dumpText }
}

extension TestClock {
  /// Begins to record the test's tasks on all of its clocks, unless they are recorded already.
  ///
  /// See ``VirtualTime/recordTimeline(events:)``.
  ///
  /// - Parameter events: How many of the latest events are kept at least; less than one counts as one.
  public func recordTimeline(events: Int = 1_000_000) {
    scheduler.record(events: events, on: virtualClock)
  }

  /// The recording of the test up to now; `nil` if it is not recorded.
  public var recordedTimeline: RecordedTimeline? { scheduler.recorder?.timeline }

  /// Adds a mark to the recording, in the lane of the current task.
  ///
  /// `text` is not evaluated if nothing is recorded. O(1), from any thread.
  public func mark(_ text: @autoclosure () -> String) { scheduler.recorder?.mark(text()) }

  /// A note for a failure if tasks of the test sleep in real time, probably because the clock was not injected.
  package var noteOnRealSleeps: String? {
    let lines = RealSleeps.lines(of: scheduler)
    return lines.isEmpty ? nil : "In the test " + RealSleeps.note(lines)
  }

  /// See `Scheduler.noteOnPossiblySkippedWait`.
  package var noteOnPossiblySkippedWait: String? { scheduler.noteOnPossiblySkippedWait }

  /// Records a failure if the current task belongs to another test.
  func checkUseByOtherTest(_ name: String, at callSite: CallSite) {
    guard let other = scheduler.schedulerOfOtherTest else { return }
    guard !useByOtherTestIsKnown.exchange(true, ordering: .relaxed) else { return }
    let pending = pendingSleeps.map(\.description)
    let name = publicName(name)
    let failure =
      scheduler.hasTest
      ? ClockFailure.useByOtherTest(of: name, origin: origin, now: "\(now)", pending: pending)
      : ClockFailure.madeApart(
        name, origin: origin, other: other.report.origin, now: "\(now)", pending: pending)
    recordFailure(failure, at: callSite)
  }

  /// Traps if the clock's state is inconsistent. O(n); for tests.
  func checkInvariants() {
    scheduler.change { state in
      virtualClock.sleeps.checkInvariants()
      state.checkInvariants()
    }
  }
}
