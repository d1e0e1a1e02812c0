import ClocksSupport

/// Waits while time moves on one virtual clock; what its subclasses have in common.
class VirtualClockWaiter<Duration: DurationProtocol & Hashable>: IdleWaiter {
  let virtualClock: VirtualClock<Duration>

  init(_ virtualClock: VirtualClock<Duration>, isOwn: Bool) {
    self.virtualClock = virtualClock
    super.init(.advance, isOwn: isOwn)
  }

  override func dueSleeps() -> ScratchBuffer<Candidate> { virtualClock.dueSleeps() }

  override func takeDueSleeper(_ number: UInt64) -> Sleeper? { virtualClock.sleeps.remove(number) }

  override var trace: (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    virtualClock.trace()
  }
}

/// Moves time to a target, which is determined at its first turn.
class Advance<Duration: DurationProtocol & Hashable>: VirtualClockWaiter<Duration> {
  /// Where time is to move, from where it is at the first turn.
  enum Aim {
    /// As far as the given duration.
    case duration
    /// To the given instant.
    case instant
    /// To the first deadline, if there is one.
    case nextDeadline
  }

  private let aim: Aim
  private let given: Duration
  @exclusivity(unchecked) private var hasBegun = false
  @exclusivity(unchecked) private var hasTarget = false
  @exclusivity(unchecked) private var knownTarget: Duration = .zero

  /// The target; `nil` until the first turn, and afterwards if there was none.
  final var target: Duration? { hasTarget ? knownTarget : nil }

  init(_ virtualClock: VirtualClock<Duration>, isOwn: Bool, _ aim: Aim, _ given: Duration = .zero) {
    self.aim = aim
    self.given = given
    super.init(virtualClock, isOwn: isOwn)
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order)
  }

  @inline(__always)
  fileprivate final func takeNext(_ order: Order) -> Sleeper? {
    if !hasBegun {
      hasBegun = true
      findTarget()
    }
    guard hasTarget else { return nil }
    if let sleeper = virtualClock.popEarliest(dueBy: knownTarget, order) { return sleeper }
    if knownTarget > virtualClock.now { virtualClock.now = knownTarget }
    return nil
  }

  @inline(__always)
  private final func findTarget() {
    hasTarget = true
    switch aim {
    case .duration: knownTarget = saturatingSum(virtualClock.now, given)
    case .instant: knownTarget = given
    case .nextDeadline:
      guard let deadline = virtualClock.sleeps.earliestDeadline else {
        hasTarget = false
        return
      }
      knownTarget = max(deadline, virtualClock.now)
    }
  }
}

/// An advance in the standard library's durations: not generic, so that no metadata are looked up at each
/// of its turns.
final class StandardDurationAdvance: Advance<Duration> {
  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order)
  }
}

/// Moves time until no sleep is pending, or for too long.
class RunUntilEmpty<Duration: DurationProtocol & Hashable>: VirtualClockWaiter<Duration> {
  /// Counts the sleeps that it has woken.
  @exclusivity(unchecked) private(set) var wakes = 0
  @exclusivity(unchecked) private(set) var ranOutOfTime = false
  /// Where time stood at its first turn.
  @exclusivity(unchecked) private(set) var start: Duration = .zero

  private let limit: RealTime
  /// For how long the scheduler had waited for threads at the first turn.
  @exclusivity(unchecked) private var waitedAtStart: UInt64 = 0

  init(_ virtualClock: VirtualClock<Duration>, isOwn: Bool, limit: RealTime) {
    self.limit = limit
    super.init(virtualClock, isOwn: isOwn)
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order, nanosecondsWithoutThread)
  }

  @inline(__always)
  fileprivate final func takeNext(_ order: Order, _ nanosecondsWithoutThread: UInt64) -> Sleeper? {
    if wakes == 0 {
      start = virtualClock.now
      waitedAtStart = nanosecondsWithoutThread
    }
    // Real time is looked at now and then, so that a wake costs no system call. The time in which the
    // test waited for a thread does not count, and nobody is called endless before many wakes: a busy
    // machine is not the test's fault.
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
}

/// The same in the standard library's durations: not generic, so that no metadata are looked up at each of
/// its turns.
final class StandardDurationRun: RunUntilEmpty<Duration> {
  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order, nanosecondsWithoutThread)
  }
}

/// Looks at the next instant at which something happens on a virtual clock: it moves time to the next
/// deadline, or to the end, or goes along where somebody else moves it. Its wait ends when everything
/// at that instant has happened.
final class VirtualClockObserver<Duration: DurationProtocol & Hashable>: InstantObserver {
  /// Counts the sleeps that it has woken.
  @exclusivity(unchecked) private(set) var wakes = 0

  private let virtualClock: VirtualClock<Duration>
  /// The instant that was looked at last, if there is one; else time does not move.
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

  #if compiler(>=6.3)
    @specialized(where Duration == Swift.Duration)
  #endif
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
