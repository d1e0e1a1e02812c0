import ClocksSupport
import Synchronization

/// A clock whose time stands still until a test moves it.
///
/// Give it to the code under test in place of a `ContinuousClock`, start that code, and advance:
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
/// ## What is guaranteed
///
/// When ``advance(by:fileID:filePath:line:column:)`` returns, every task of the test has run as far
/// as it can, however busy the machine is: no task of the test is running, and none could run. The
/// same holds for ``settle(fileID:filePath:line:column:)``, ``run(timeout:fileID:filePath:line:column:)``,
/// ``checkSuspension(fileID:filePath:line:column:)`` and ``advanceToNextSleep(fileID:filePath:line:column:)``. Nothing yields, polls or waits for real time
/// to bring that about: from the moment a clock is made, a scheduler runs the test's tasks, one job
/// at a time, first in, first out, and so knows when it is idle.
///
/// ## Which tasks are the test's
///
/// The task that makes the clock, and every task that it starts from then on, directly or not:
/// children, `async let`, groups, `Task`, `Task.detached`, `Task.immediate`, the work of default
/// actors and of the main actor. A task that nobody owns joins when it sleeps on the clock or
/// advances it. Clocks that are made by the same test share one scheduler; tests that run side by
/// side have nothing to do with each other. A clock that is made outside any task, as a property of
/// an XCTest case is, speaks for all tasks of the process that are no other test's.
///
/// ## What cannot be seen
///
/// A thread of your own, a socket, a file, another process: what they are doing is not known here,
/// and `advance` does not wait for it. Neither does it wait for a sleep on a real clock. Use
/// ``waitForSleeps(atLeast:timeout:)`` for sleeps that arrive from there. Where work on dispatch
/// queues, actors and tasks with executors of their own can be seen, it is waited for.
///
/// ## Cost
///
/// Registering, waking and cancelling a sleep: O(log n) with n pending sleeps. No thread of its
/// own.
///
/// The idea of a scheduler that runs every task of a test and therefore knows when to move time is
/// that of kotlinx-coroutines-test, of tokio's paused clock and of Go's `testing/synctest`.
public final class TestClock<Duration: DurationProtocol & Hashable>: Clock, Identifiable, Sendable {
  /// A point in a ``TestClock``'s time, as the distance from an origin that has no further meaning.
  public struct Instant: InstantProtocol {
    /// The distance from the origin.
    public let offset: Duration

    /// Makes the instant at `offset` from the origin; the origin itself by default.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// The instant that is `duration` later.
    ///
    /// With `Swift.Duration` an instant beyond the ends of the range is the end of the range. O(1).
    public func advanced(by duration: Duration) -> Self {
      Self(offset: saturatingSum(offset, duration))
    }

    /// How much later `other` is than this instant. O(1).
    public func duration(to other: Self) -> Duration {
      saturatingDifference(other.offset, offset)
    }

    public static func < (lhs: Self, rhs: Self) -> Bool {
      lhs.offset < rhs.offset
    }
  }

  let scheduler: Scheduler
  let virtualClock: VirtualClock<Duration>
  /// Where the clock was made.
  let origin: CallSite
  /// Guarded by the scheduler, as all that changes of a clock.
  nonisolated(unsafe) private var resolution: Duration = .zero
  /// Whether a use by another test's task has been recorded: once is enough.
  let useByOtherTestIsKnown = Atomic(false)

  /// Makes a clock whose time is `now`, for the current test.
  ///
  /// The current task becomes the test's, and so does every task that it starts from now on.
  /// Outside any task, on a thread, the clock is in Swift Testing that of the test cases that use it; in
  /// XCTest it owns whatever no other test owns, while it is in use. The first clock of a process
  /// opens the way to the Swift runtime: see ``SchedulerCapability``. O(1).
  public convenience init(
    now: Instant = .init(),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    self.init(
      startingAt: now,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  private init(startingAt now: Instant, at origin: CallSite) {
    scheduler = .retainForNewClock(at: origin)
    virtualClock = VirtualClock(now: now.offset)
    self.origin = origin
    scheduler.add(virtualClock)
    scheduler.addMaker(to: virtualClock.users)
    scheduler.recordIfAskedFor()
  }

  /// Makes a clock that reads `virtual clock`.
  init(_ scheduler: Scheduler, _ virtualClock: VirtualClock<Duration>, at origin: CallSite) {
    self.origin = origin
    scheduler.retain()
    self.scheduler = scheduler
    self.virtualClock = virtualClock
    scheduler.add(virtualClock)
    scheduler.addMaker(to: virtualClock.users)
    scheduler.recordIfAskedFor()
  }

  deinit {
    scheduler.remove(virtualClock)
    scheduler.release()
  }

  /// The clock's time.
  ///
  /// It changes only while the test advances the clock. A task that a sleep has just woken sees
  /// exactly its deadline. O(1).
  public var now: Instant {
    Instant(offset: scheduler.change { _ in virtualClock.now })
  }

  /// What the clock says its resolution is: zero, unless a test sets it.
  ///
  /// It has no influence on the clock, which is exact. It is for code that adapts itself to its
  /// clock: a display that does not refresh more often than its clock can tell. O(1).
  public var minimumResolution: Duration {
    get { scheduler.change { _ in resolution } }
    set { scheduler.change { _ in resolution = newValue } }
  }
}

extension TestClock where Duration == Swift.Duration {
  /// Makes a clock for the current test, whose time is the origin.
  ///
  /// Inside
  /// ``withVirtualTime(autoAdvance:jumpsAfter:leftoverSleeps:stuckAfter:freezesDate:runningLimit:fileID:filePath:line:column:operation:)``
  /// it reads that scope's time instead, as the scope's own clock does. O(1).
  public convenience init(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let origin = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let scheduler = Scheduler.retainForNewClock(at: origin)
    defer { scheduler.release() }
    // A scope that has ended has no time any more.
    let virtualClock = scheduler.isVirtual ? scheduler.scope?.virtualClock : nil
    self.init(scheduler, virtualClock ?? VirtualClock(now: .zero), at: origin)
  }

  /// Makes a clock whose time is `now`, for the current test.
  ///
  /// As the other initializer, for the usual kind of duration, which then needs not be named. O(1).
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
