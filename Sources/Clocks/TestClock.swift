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
/// same holds for ``settle()``, ``run(timeout:fileID:filePath:line:column:)``,
/// ``checkSuspension()`` and ``advanceToNextSleep()``. Nothing yields, polls or waits for real time
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
/// A thread, a dispatch queue, a socket, an actor with an executor of its own: what they are doing
/// is not known here, and `advance` does not wait for it. Neither does it wait for a sleep on a
/// real clock. Use ``waitForSleeps(atLeast:timeout:fileID:filePath:line:column:)`` for sleeps that
/// arrive from there.
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
  /// The scheduler's lock guards it.
  let timeline: Timeline<Duration>
  /// Where the clock was made.
  private let origin: CallSite
  /// Whether a use by another test's task has been recorded: once is enough.
  private let foreignUseIsKnown = Atomic(false)

  /// Makes a clock whose time is `now`, for the current test.
  ///
  /// The current task becomes the test's, and so does every task that it starts from now on.
  /// Outside any task, the clock speaks for the whole process. The first clock of a process opens
  /// the way to the Swift runtime: see ``SchedulingRung``. O(1).
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
    timeline = Timeline(now: now.offset)
    self.origin = origin
    scheduler.add(timeline)
  }

  /// Makes a clock that reads `timeline`.
  init(_ scheduler: Scheduler, _ timeline: Timeline<Duration>, at origin: CallSite) {
    self.origin = origin
    scheduler.retain()
    self.scheduler = scheduler
    self.timeline = timeline
    scheduler.add(timeline)
  }

  deinit {
    scheduler.remove(timeline)
    scheduler.release()
  }

  /// The clock's time.
  ///
  /// It changes only while the test advances the clock. A task that a sleep has just woken sees
  /// exactly its deadline. O(1).
  public var now: Instant {
    Instant(offset: scheduler.lock.withLock { timeline.now })
  }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  /// Suspends the current task until the clock's time is `deadline`.
  ///
  /// Sleeps wake in the order of their deadlines, and those with the same deadline in the order in
  /// which they were registered; each time everything that a wake sets going runs before the next
  /// one. If the deadline is not in the future, the call returns at once, without waiting for an
  /// advance, as on every real clock.
  ///
  /// On cancellation, before the call or while it sleeps, it throws at once and leaves nothing
  /// behind in the clock. A task that is cancelled after its sleep was woken returns normally, as
  /// with `Task.sleep`.
  ///
  /// O(log n) with n pending sleeps.
  ///
  /// - Parameters:
  ///   - deadline: When to go on.
  ///   - tolerance: Has no influence; it can be read in ``pendingSleeps``.
  /// - Throws: `CancellationError` if the task is cancelled.
  @specialized(where Duration == Swift.Duration)
  public nonisolated(nonsending) func sleep(
    until deadline: Instant, tolerance: Duration? = nil
  ) async throws {
    try Task.checkCancellation()
    let isOwn = scheduler.admitCurrentTask()
    if !isOwn { checkForeignUse("sleep(until:)", at: origin) }
    guard let token = announceSleep(until: deadline) else { return }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        beginSleep(
          token, .continuation(continuation, isOwn: isOwn), until: deadline, tolerance: tolerance)
      }
    } onCancel: {
      cancelSleep(token)
    }
  }

  private typealias Sleeps = Timeline<Duration>.Sleeps

  /// Announces a sleep, or returns `nil` if its deadline is not in the future.
  @specialized(where Duration == Swift.Duration)
  private func announceSleep(until deadline: Instant) -> Sleeps.Token? {
    scheduler.lock.withLock {
      deadline.offset > timeline.now ? timeline.sleeps.reserve() : nil
    }
  }

  @specialized(where Duration == Swift.Duration)
  private func beginSleep(
    _ token: Sleeps.Token, _ sleeper: Sleeps.Sleeper, until deadline: Instant, tolerance: Duration?
  ) {
    let task = RuntimeDoor.currentTask
    let name = RuntimeDoor.currentTaskName
    let (outcome, arrivals) = scheduler.lock.withLock {
      // Time may have moved since the sleep was announced, if a thread that is not the test's
      // called. Then it is due at once, and is woken by the next advance, which is as if it had
      // come a moment later.
      let details = Sleeps.Details(
        registered: timeline.now, taskName: name, task: task, taskID: task?.id ?? 0, clock: .test,
        tolerance: tolerance)
      let outcome = timeline.sleeps.suspend(
        token, sleeper, until: deadline.offset, details: details)
      return (outcome, timeline.takeFulfilledArrivals())
    }
    if case .cancelled = outcome { resumeCancelled(sleeper) }
    for arrival in arrivals { arrival.fulfil() }
  }

  @specialized(where Duration == Swift.Duration)
  private func cancelSleep(_ token: Sleeps.Token) {
    let sleeper = scheduler.lock.withLock { timeline.sleeps.cancel(token) }
    if let sleeper { resumeCancelled(sleeper) }
  }

  /// Records a failure if the current task is another test's.
  func checkForeignUse(_ name: String, at callSite: CallSite) {
    guard scheduler.isCurrentTaskForeign else { return }
    guard !foreignUseIsKnown.exchange(true, ordering: .relaxed) else { return }
    recordFailure(
      """
      TestClock.\(name) was called by a task of another test than the one that made the clock, at \
      \(origin.fileID):\(origin.line). The tests' tasks run side by side, so neither can know when \
      the other's have run as far as they can. Make a clock in each test; one in a static or global \
      variable is shared by all of them.
      It is \(now). Pending sleeps: \(pendingSleeps.isEmpty ? "none" : "\n" + pendingSleeps.listed)
      """, at: callSite)
  }

  private func resumeCancelled(_ sleeper: Sleeps.Sleeper) {
    guard case .continuation(let continuation, let isOwn) = sleeper else { return }
    scheduler.resume(continuation, isOwn: isOwn, throwing: CancellationError())
  }
}

extension TestClock where Duration == Swift.Duration {
  /// Makes a clock for the current test, whose time is the origin.
  ///
  /// Inside
  /// ``withVirtualTime(autoAdvance:jumpsAfter:leftoverSleeps:limits:fileID:filePath:line:column:operation:)``
  /// it reads that scope's time instead, as the scope's own clock does. O(1).
  public convenience init(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let origin = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let scheduler = Scheduler.retainForNewClock(at: origin)
    defer { scheduler.release() }
    self.init(scheduler, scheduler.scopeTimeline ?? Timeline(now: .zero), at: origin)
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
