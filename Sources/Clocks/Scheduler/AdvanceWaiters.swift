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

/// Moves time on one virtual clock to a target, which is determined at the advance's first turn.
class Advance<Duration: DurationProtocol & Hashable>: IdleWaiter {
  fileprivate let virtualClock: VirtualClock<Duration>
  private let aim: AdvanceAim
  private let given: Duration
  @exclusivity(unchecked) fileprivate var hasBegun = false
  @exclusivity(unchecked) private var hasTarget = false
  @exclusivity(unchecked) private var knownTarget: Duration = .zero

  /// The target; `nil` before the first turn, and if there is none.
  final var target: Duration? { hasTarget ? knownTarget : nil }

  /// The time at the first turn. Only `lastDeadline` needs this and the properties below.
  @exclusivity(unchecked) private(set) final var start: Duration = .zero
  /// The number of sleeps that this advance has woken.
  @exclusivity(unchecked) private(set) final var wakes = 0
  @exclusivity(unchecked) private(set) final var ranOutOfTime = false
  /// The total time for which the scheduler had waited for a thread before the first turn, in nanoseconds.
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
    if !hasBegun { begin(nanosecondsWithoutThread) }
    guard hasTarget else {
      guard case .lastDeadline(let limit) = aim else { return nil }
      return takeUntilLimit(limit, order, nanosecondsWithoutThread)
    }
    if let sleeper = virtualClock.popEarliest(dueBy: knownTarget, order) { return sleeper }
    if knownTarget > virtualClock.now { virtualClock.now = knownTarget }
    return nil
  }

  @inline(__always)
  fileprivate final func begin(_ nanosecondsWithoutThread: UInt64) {
    hasBegun = true
    findTarget()
    waitedAtStart = nanosecondsWithoutThread
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
    // Real time is read only at each sixteenth wake, so that most wakes cost no system call, and only after many
    // wakes, so that a slow machine fails no test. Time in which the test waited for a thread does not count.
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

  /// The instant of the next wake, or of the advance's end if no wake comes before it.
  fileprivate final var nextInstant: Duration {
    let end: Duration? =
      switch aim {
      case _ where hasBegun: target
      case .duration: saturatingSum(virtualClock.now, given)
      case .instant: given
      case .nextDeadline, .lastDeadline: nil
      }
    let deadline = virtualClock.sleeps.earliestDeadline
    let next = end.map { min($0, deadline ?? $0) } ?? deadline ?? virtualClock.now
    return max(next, virtualClock.now)
  }

  override var movedClock: AnyObject? { virtualClock }

  override func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    virtualClock.appendDueSleeps(to: &candidates)
  }

  override func takeDueSleeper(_ number: UInt64) -> Sleeper? { virtualClock.sleeps.remove(number) }

  override var trace: (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    virtualClock.trace()
  }
}

/// An advance in the standard library's durations. Not generic, so that no turn looks up generic metadata.
final class StandardDurationAdvance: Advance<Duration> {
  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    takeNext(order, nanosecondsWithoutThread)
  }

  fileprivate var now: Duration { virtualClock.now }

  /// The time until `nextInstant`.
  fileprivate var distance: Duration { saturatingDifference(nextInstant, now) }

  /// Moves the clock by the time that has passed on another clock, whose advance had its turn.
  fileprivate func follow(_ passed: Duration, _ nanosecondsWithoutThread: UInt64) {
    if !hasBegun { begin(nanosecondsWithoutThread) }
    virtualClock.now = min(saturatingSum(now, passed), nextInstant)
  }
}

// Here advances of different clocks are under way together. Time passes equally fast on all clocks, so that their
// wakes come in the order in which they would come in real time. Each clock is moved by the oldest of its advances.
// Clocks whose durations are of other types cannot be compared: they are moved one after another.
extension IdleWaiters {
  private var advancesInStep: [StandardDurationAdvance] {
    var found: [StandardDurationAdvance] = []
    for case let advance as StandardDurationAdvance in advances.all
    where !found.contains(where: { $0.virtualClock === advance.virtualClock }) {
      found.append(advance)
    }
    return found
  }

  /// The advance whose next event comes first; of several, the oldest. O(n).
  @inline(never)
  var firstInStep: IdleWaiter? {
    guard let oldest = advances.first, oldest is StandardDurationAdvance else {
      return advances.first
    }
    return advancesInStep.min { $0.distance < $1.distance } ?? oldest
  }

  /// Calls `takeSleeper` of an advance, and moves the other clocks by the time that has passed. O(n).
  @inline(never)
  func takeSleeperInStep(
    _ waiter: IdleWaiter, _ order: Order, nanosecondsWithoutThread: UInt64
  ) -> Sleeper? {
    let before = (waiter as? StandardDurationAdvance)?.now
    let sleeper = waiter.takeSleeper(order, nanosecondsWithoutThread: nanosecondsWithoutThread)
    guard let before, let advance = waiter as? StandardDurationAdvance else { return sleeper }
    for other in advancesInStep where other !== advance {
      other.follow(advance.now - before, nanosecondsWithoutThread)
    }
    return sleeper
  }
}

/// Waits until something happens on a virtual clock, and until everything at that instant has happened.
///
/// Moves time to the next deadline, or to the limit, unless another wait moves time first.
final class VirtualClockObserver<Duration: DurationProtocol & Hashable>: InstantObserver {
  /// The number of sleeps that this observer has woken.
  @exclusivity(unchecked) private(set) var wakes = 0

  private let virtualClock: VirtualClock<Duration>
  /// The instant at which the caller looked last; `nil` if it is to look at the present, without moving time.
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

  override func appendDueSleeps(to candidates: inout ScratchBuffer<Candidate>) {
    virtualClock.appendDueSleeps(to: &candidates)
  }

  override func takeDueSleeper(_ number: UInt64) -> Sleeper? { virtualClock.sleeps.remove(number) }

  override var trace: (now: Swift.Duration?, removed: (number: UInt64, task: UInt64)?) {
    virtualClock.trace()
  }
}
