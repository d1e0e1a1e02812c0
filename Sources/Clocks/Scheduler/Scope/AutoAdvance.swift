import ClocksSupport

/// The rule by which time moves in a scope, and the alarm that rings when nothing happens.
struct AutoAdvance: ~Copyable {
  private let isPassedByAddress = PassedByAddress()
  /// The purpose of an alarm, which rings if nothing happens in a scope for some real time.
  enum Reason {
    /// Nothing has happened for as long as a jump needs.
    case pause
    /// Nothing can run, and time does not move.
    case stuck
    /// Nothing but sleeps is left, and an operation under `holding` without a deadline keeps time from jumping.
    case held
  }

  /// The state of other tests and schedulers when the scope's alarm rings.
  struct Others {
    /// Whether another test has something to run.
    var areBusy = false
    /// Whether another scheduler of the same test waits for a thread. This scope may wait for that scheduler.
    var awaitThread = false
    /// Whether a job of this scope holds a thread. The other scheduler may be waiting for that thread.
    var mayAwaitScope = false
    /// How many jobs of the tests around the scope have begun or ended.
    var progressAround: UInt64 = 0
    /// Whether a thread runs that holds a block for which the test no longer waits.
    var isAbandonedBlockRunning = false
    /// How long a busy machine has kept the process waiting since the alarm was set.
    var withheld = Duration.zero
  }

  let autoAdvance: Bool
  private var jumpsAfter: Duration?
  /// Counts the operations under `holding`, which keep time from jumping.
  var holds = 0
  /// Counts the operations under `holding` that no deadline ends.
  var unlimitedHolds = 0
  /// The scheduler of the test around the scope; `nil` if there is none.
  var testAround: Scheduler?
  /// Whether time does not wait for the test around the scope, because that test polls. Once that test has had nothing
  /// to run, time waits for it again.
  var ignoresTestAround = false
  /// The progress of the tests around the scope at the end of the last pause in which they continued.
  private var progressAround: UInt64 = 0
  /// Whether nothing has happened since the alarm for a pause rang.
  var pauseIsOver = false
  /// The alarm that was set last; `nil` if something has happened since, or if it rang without effect.
  ///
  /// `first` is when the first alarm after that was set.
  private(set) var alarm:
    (number: Int, reason: Reason, patience: Int, set: ServedTime, first: ServedTime)?
  private var alarms = 0

  init(autoAdvance: Bool, jumpsAfter: Duration?) {
    self.autoAdvance = autoAdvance
    self.jumpsAfter = jumpsAfter
  }

  /// Whether time may move at this moment.
  var mayPass: Bool { autoAdvance && holds == 0 }

  /// Whether a job of the test around the scope could run at the last call of `checkTestAround`.
  private var couldTestAroundRun = false

  /// Whether time waits for the test around the scope, because one of its jobs can run.
  var isTestAroundRunning: Bool { couldTestAroundRun && !ignoresTestAround }

  /// Reads whether the test around the scope can run, once for all decisions that follow while the lock is held.
  ///
  /// Otherwise thread B could end the last job of that test between two readings of thread A. Thread A would withhold a
  /// jump, because that job could run, and then set no alarm, because none can.
  mutating func checkTestAround() { couldTestAroundRun = testAround?.canAnyRun ?? false }

  /// How long nothing must happen before a jump; `nil` if time jumps immediately.
  ///
  /// A job of the test around the scope may block its thread until time moves in the scope. So time does not wait for
  /// it forever.
  var pause: Duration? { jumpsAfter ?? (isTestAroundRunning ? .seconds(1) : nil) }

  /// Whether nothing has happened for as long as a jump needs.
  ///
  /// Does not read `pause`, because a debug build would take longer to compute its duration.
  var isPauseOver: Bool {
    if pauseIsOver { return true }
    return jumpsAfter == nil && !isTestAroundRunning
  }

  /// The pause before each jump, in an unedited suite, that gives work outside the scope some real time. A guess.
  static let pauseForOutsideWork = Duration.milliseconds(3)

  /// Notes that blocks were abandoned in an unedited suite.
  ///
  /// Time may wake the thread of such a block. So from now on, each jump may have to wait for a pause
  /// (`ScopeState.mayJump`).
  mutating func blocksAreAbandoned() {
    if jumpsAfter == nil { jumpsAfter = Self.pauseForOutsideWork }
  }

  /// Notes that something happens, which makes the alarm void.
  mutating func somethingHappens() {
    alarm = nil
    pauseIsOver = false
  }

  /// Returns the alarm to set when the scope is idle.
  ///
  /// - Parameter patience: How many more times the alarm is set again because other tests, or an abandoned block, are
  ///   busy when it rings. A wait for a thread does not count. The scope may wait for an actor that works for the other
  ///   test, which itself may wait seconds for a free thread.
  mutating func setAlarm(_ reason: Reason, in duration: Duration, patience: Int) -> Action.Alarm {
    alarms += 1
    let now = ServedTime()
    alarm = (alarms, reason, patience, now, alarm?.first ?? now)
    return Action.Alarm(number: alarms, duration: duration)
  }

  /// Returns the patience of the alarm that is set again because of the others; `nil` if the alarm takes effect now.
  ///
  /// A pause for the test around the scope ends although that test is busy, because one of its jobs may block its
  /// thread until time moves in the scope. It also ends if a job of the scope may hold the thread that the test awaits.
  /// If the test continues until the patience is used up, it probably polls until the scope is over.
  mutating func patienceLeft(_ patience: Int, _ reason: Reason, _ others: Others) -> Int? {
    if reason == .pause {
      if others.isAbandonedBlockRunning, patience > 0 { return patience - 1 }
      guard isTestAroundRunning else { return others.awaitThread ? patience : nil }
      if others.awaitThread, !others.mayAwaitScope { return patience }
      guard others.progressAround != progressAround else { return nil }
      progressAround = others.progressAround
      ignoresTestAround = patience == 0
      return ignoresTestAround ? nil : patience - 1
    }
    if others.awaitThread { return patience }
    return others.areBusy && patience > 0 ? patience - 1 : nil
  }

  /// Notes that an alarm rang without effect, so that a new one is set.
  mutating func alarmIsMissed(_ number: Int) {
    if alarm?.number == number { alarm = nil }
  }

  /// Stops the program if a count is wrong; for tests.
  func checkInvariants() {
    precondition(holds >= unlimitedHolds && unlimitedHolds >= 0, "time was released too often")
  }
}

/// A clock that rings once at an instant of real time, unless it is set again before.
///
/// A new timer starts only if it ends before the timer under way. A timer that ends before the clock is due is
/// started again for the rest. So the clock may be set a million times a second.
final class AlarmClock: Sendable {
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// When to ring, and with which number; `nil` once the clock has rung.
  nonisolated(unsafe) private var setting: (due: RealTime, number: Int)?
  /// The highest number that was set.
  nonisolated(unsafe) private var newest = 0
  /// When the earliest timer that is under way ends; `nil` if there is none.
  nonisolated(unsafe) private var timer: RealTime?
  /// Called with the number when the clock rings. Assigned before the first call of `set`.
  nonisolated(unsafe) var ring: @Sendable (_ number: Int) -> Void = { _ in }

  /// Sets the clock to ring after `duration`, and not earlier. Replaces the previous setting. O(1).
  ///
  /// Does nothing if a higher number was set before. Thread A leaves the scheduler's lock with alarm 1. Thread B
  /// leaves it later with alarm 2, and sets the clock. Then thread A comes, whose alarm is void.
  func set(_ number: Int, in duration: Duration) {
    let due = RealTime(in: duration)
    let isEarlier = lock.withLock {
      guard number >= newest else { return false }
      newest = number
      setting = (due, number)
      if let timer, timer <= due { return false }
      timer = due
      return true
    }
    if isEarlier { startTimer(due) }
  }

  private func startTimer(_ instant: RealTime) {
    instant.schedule { [weak self] in self?.timerCame(instant) }
  }

  private func timerCame(_ instant: RealTime) {
    let (later, number): (RealTime?, Int?) = lock.withLock {
      // Another timer replaced this one.
      guard timer == instant else { return (nil, nil) }
      timer = nil
      guard let setting else { return (nil, nil) }
      guard setting.due.hasPassed else {
        timer = setting.due
        return (setting.due, nil)
      }
      self.setting = nil
      return (nil, setting.number)
    }
    if let later { startTimer(later) }
    if let number { ring(number) }
  }
}
