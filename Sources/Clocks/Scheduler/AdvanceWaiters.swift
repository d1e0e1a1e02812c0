import ClocksSupport

/// The instant to which an `Advance` moves time.
enum AdvanceAim {
  /// The instant that is this much later than the time at the advance's first turn.
  case duration(Duration)
  case instant(Duration)
  /// To the first deadline, if there is one.
  case nextDeadline
  /// Until no sleep is pending, or the limit has passed.
  case lastDeadline(limit: RealTime)
}

/// Moves time on one virtual clock to a target, which is determined at the advance's first turn.
final class Advance: IdleWaiter {
  fileprivate let virtualClock: VirtualClock
  private let aim: AdvanceAim
  private var hasBegun = false
  /// The target; `nil` before the first turn, and if there is none.
  private(set) var target: Duration?

  /// The time at the first turn. Only `lastDeadline` needs this and the properties below.
  private(set) var start: Duration = .zero
  /// The number of sleeps that this advance has woken.
  private(set) var wakes = 0
  private(set) var ranOutOfTime = false
  /// The total time for which the scheduler had waited for a thread before the first turn, in nanoseconds.
  private var waitedAtStart: UInt64 = 0

  init(_ virtualClock: VirtualClock, isOwn: Bool, _ aim: AdvanceAim) {
    self.virtualClock = virtualClock
    self.aim = aim
    super.init(.advance, isOwn: isOwn)
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    if !hasBegun { begin(nanosecondsWithoutThread) }
    guard let target else {
      guard case .lastDeadline(let limit) = aim else { return nil }
      return takeUntilLimit(limit, order, nanosecondsWithoutThread)
    }
    if let sleeper = virtualClock.popEarliest(dueBy: target, order) { return sleeper }
    virtualClock.move(to: target)
    return nil
  }

  private func begin(_ nanosecondsWithoutThread: UInt64) {
    hasBegun = true
    waitedAtStart = nanosecondsWithoutThread
    start = virtualClock.now
    target = targetFromNow
  }

  /// The target if the first turn is now.
  private var targetFromNow: Duration? {
    switch aim {
    case .duration(let duration): virtualClock.instant(after: duration)
    case .instant(let instant): instant
    case .nextDeadline:
      virtualClock.sleeps.earliestDeadline.map {
        virtualClock.isFuture($0) ? $0 : virtualClock.now
      }
    case .lastDeadline: nil
    }
  }

  private func takeUntilLimit(
    _ limit: RealTime, _ order: Order, _ nanosecondsWithoutThread: UInt64
  ) -> Sleeper? {
    // Real time is read only at each sixteenth wake, because reading it costs a system call. It is read only after many
    // wakes, so that a slow machine fails no test. The time in which the test waited for a thread does not count.
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

  override var movedClock: VirtualClock? { virtualClock }
}

// Advances of different clocks may be under way together. Then time passes equally fast on all these clocks, so their
// wakes come in the order in which they would come in real time. Each clock is moved by the oldest of its advances.
// The times of clocks with custom durations cannot be compared, so such clocks are moved one after another.
extension Advance {
  fileprivate var canMoveInStep: Bool { virtualClock.custom == nil }

  /// The instant of the next wake, or of the advance's end if no wake comes before it.
  private var nextInstant: Duration {
    let end = hasBegun ? target : targetFromNow
    let deadline = virtualClock.sleeps.earliestDeadline
    let next = end.map { min($0, deadline ?? $0) } ?? deadline ?? virtualClock.now
    return max(next, virtualClock.now)
  }

  /// The time until `nextInstant`.
  fileprivate var distance: Duration { saturatingDifference(nextInstant, virtualClock.now) }

  /// Moves the clock by the time that passed on another clock, whose advance had its turn.
  fileprivate func follow(_ passed: Duration, _ nanosecondsWithoutThread: UInt64) {
    if !hasBegun { begin(nanosecondsWithoutThread) }
    virtualClock.move(to: min(saturatingSum(virtualClock.now, passed), nextInstant))
  }
}

extension IdleWaiters {
  /// The oldest advance of each clock. Expected O(n).
  private var advancesInStep: [Advance] {
    var found: [Advance] = []
    var clocks: Set<ObjectIdentifier> = []
    for case let advance as Advance in advances.all
    where advance.canMoveInStep && clocks.insert(ObjectIdentifier(advance.virtualClock)).inserted {
      found.append(advance)
    }
    return found
  }

  /// The advance whose next event comes first; of several, the oldest. O(n).
  @inline(never)
  var firstInStep: IdleWaiter? {
    guard let oldest = advances.first as? Advance, oldest.canMoveInStep else {
      return advances.first
    }
    return advancesInStep.min { $0.distance < $1.distance } ?? oldest
  }

  /// Calls `takeSleeper` of an advance, and moves the other clocks by the time that passed. O(n).
  @inline(never)
  func takeSleeperInStep(
    _ waiter: IdleWaiter, _ order: Order, nanosecondsWithoutThread: UInt64
  ) -> Sleeper? {
    guard let advance = waiter as? Advance, advance.canMoveInStep else {
      return waiter.takeSleeper(order, nanosecondsWithoutThread: nanosecondsWithoutThread)
    }
    let before = advance.virtualClock.now
    let sleeper = waiter.takeSleeper(order, nanosecondsWithoutThread: nanosecondsWithoutThread)
    let passed = saturatingDifference(advance.virtualClock.now, before)
    for other in advancesInStep where other !== advance {
      other.follow(passed, nanosecondsWithoutThread)
    }
    return sleeper
  }
}

/// Waits until something happens on a virtual clock, and until everything at that instant has happened.
///
/// Moves time to the next deadline, or to the limit, unless another wait moves time first.
final class VirtualClockObserver: IdleWaiter {
  /// Whether the observer waits until time may jump, in a scope with auto-advance. Elsewhere it moves time.
  let isPaced: Bool
  /// The value of `IdleWaiters.jobsFromOutside` when the observing task last checked its condition.
  let jobsFromOutside: UInt64
  /// Whether to check the condition although time has not moved: the task was cancelled, or a job came from outside.
  var mustCheck = false
  /// The number of sleeps that this observer has woken.
  private(set) var wakes = 0

  private let virtualClock: VirtualClock
  /// The instant of the caller's last check; `nil` if it is to check the present, without moving time.
  private let known: Duration?
  private let limit: Duration

  init(
    _ virtualClock: VirtualClock, isOwn: Bool, isPaced: Bool, after known: Duration?,
    jobsFromOutside: UInt64, upTo end: Duration
  ) {
    self.virtualClock = virtualClock
    self.known = known
    limit = end
    self.isPaced = isPaced
    self.jobsFromOutside = jobsFromOutside
    super.init(.observe, isOwn: isOwn)
  }

  var isBehind: Bool {
    guard let known else { return true }
    return mustCheck || wakes > 0 || virtualClock.sleeps.isLater(virtualClock.now, than: known)
  }

  override func takeSleeper(_ order: Order, nanosecondsWithoutThread: UInt64) -> Sleeper? {
    let target = isBehind ? virtualClock.now : limit
    if let sleeper = virtualClock.popEarliest(dueBy: target, order) {
      wakes += 1
      return sleeper
    }
    virtualClock.move(to: target)
    return nil
  }

  override var movedClock: VirtualClock? { virtualClock }
}
