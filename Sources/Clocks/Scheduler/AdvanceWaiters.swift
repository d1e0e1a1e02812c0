import ClocksSupport

/// The instant to which an `Advance` moves time.
enum AdvanceAim {
  case duration
  case instant
  /// To the first deadline, if there is one.
  case nextDeadline
  /// Until no sleep is pending, or the limit has passed.
  case lastDeadline(limit: RealTime)
}

/// Moves time on one virtual clock to a target, which is determined at its first turn.
class Advance<Duration: DurationProtocol & Hashable>: IdleWaiter {
  private let virtualClock: VirtualClock<Duration>
  private let aim: AdvanceAim
  private let given: Duration
  @exclusivity(unchecked) private var hasBegun = false
  @exclusivity(unchecked) private var hasTarget = false
  @exclusivity(unchecked) private var knownTarget: Duration = .zero

  /// The target; `nil` before the first turn, and if there is none.
  final var target: Duration? { hasTarget ? knownTarget : nil }

  /// The time at the first turn; this and the rest are for `lastDeadline`.
  @exclusivity(unchecked) private(set) final var start: Duration = .zero
  /// The number of sleeps that it has woken.
  @exclusivity(unchecked) private(set) final var wakes = 0
  @exclusivity(unchecked) private(set) final var ranOutOfTime = false
  /// How long the scheduler had waited for threads at the first turn.
  @exclusivity(unchecked) private var waitedAtStart: UInt64 = 0

  init(
    _ virtualClock: VirtualClock<Duration>, isOwn: Bool, _ aim: AdvanceAim,
    _ given: Duration = .zero
  ) {
    self.virtualClock = virtualClock
    self.aim = aim
    self.given = given
    super.init(.advance, isOwn: isOwn)
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order, nanosecondsWithoutThread)
  }

  @inline(__always)
  fileprivate final func takeNext(_ order: Order, _ nanosecondsWithoutThread: UInt64) -> Sleeper? {
    if !hasBegun {
      hasBegun = true
      findTarget()
      waitedAtStart = nanosecondsWithoutThread
    }
    guard hasTarget else {
      guard case .lastDeadline(let limit) = aim else { return nil }
      return takeUntilLimit(limit, order, nanosecondsWithoutThread)
    }
    if let sleeper = virtualClock.popEarliest(dueBy: knownTarget, order) { return sleeper }
    if knownTarget > virtualClock.now { virtualClock.now = knownTarget }
    return nil
  }

  @inline(__always)
  private final func findTarget() {
    start = virtualClock.now
    switch aim {
    case .duration: knownTarget = saturatingSum(start, given)
    case .instant: knownTarget = given
    case .nextDeadline:
      guard let deadline = virtualClock.sleeps.earliestDeadline else { return }
      knownTarget = max(deadline, start)
    case .lastDeadline: return
    }
    hasTarget = true
  }

  @inline(__always)
  private final func takeUntilLimit(
    _ limit: RealTime, _ order: Order, _ nanosecondsWithoutThread: UInt64
  ) -> Sleeper? {
    // Real time is read at each sixteenth wake, and not before many: a wake costs no system call, and a slow
    // machine fails no test. Time in which the test waited for a thread does not count.
    if wakes >= 100_000, wakes & 0xF == 0, virtualClock.sleeps.count > 0,
      limit.hasPassed(by: nanosecondsWithoutThread &- waitedAtStart)
    {
      ranOutOfTime = true
    }
    guard !ranOutOfTime, let sleeper = virtualClock.popEarliest(dueBy: nil, order) else {
      return nil
    }
    wakes += 1
    return sleeper
  }

  override func dueSleeps() -> ScratchBuffer<Candidate> { virtualClock.dueSleeps() }

  override func takeDueSleeper(_ number: UInt64) -> Sleeper? { virtualClock.sleeps.remove(number) }

  override var trace: (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    virtualClock.trace()
  }
}

/// An advance in the standard library's durations. Not generic, so that no turn looks up metadata.
final class StandardDurationAdvance: Advance<Duration> {
  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order, nanosecondsWithoutThread)
  }
}

/// Waits until everything at the next instant has happened at which something happens on a virtual clock.
///
/// Moves time to the next deadline, or to the end; or follows another task that moves time.
final class VirtualClockObserver<Duration: DurationProtocol & Hashable>: InstantObserver {
  /// The number of sleeps that it has woken.
  @exclusivity(unchecked) private(set) var wakes = 0

  private let virtualClock: VirtualClock<Duration>
  /// The instant that was looked at last. If `nil`, time does not move.
  private let known: Duration?
  private let limit: Duration

  init(
    _ virtualClock: VirtualClock<Duration>, isOwn: Bool, isPaced: Bool, after known: Duration?,
    jobsFromOutside: UInt64, upTo end: Duration
  ) {
    self.virtualClock = virtualClock
    self.known = known
    limit = end
    super.init(isOwn: isOwn, isPaced: isPaced, jobsFromOutside: jobsFromOutside)
  }

  override var isBehind: Bool {
    guard let known else { return true }
    return mustLook || wakes > 0 || virtualClock.now > known
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    let target = isBehind ? virtualClock.now : limit
    if let sleeper = virtualClock.popEarliest(dueBy: target, order) {
      wakes += 1
      return sleeper
    }
    if target > virtualClock.now { virtualClock.now = target }
    return nil
  }

  override func dueSleeps() -> ScratchBuffer<Candidate> { virtualClock.dueSleeps() }

  override func takeDueSleeper(_ number: UInt64) -> Sleeper? { virtualClock.sleeps.remove(number) }

  override var trace: (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    virtualClock.trace()
  }
}
