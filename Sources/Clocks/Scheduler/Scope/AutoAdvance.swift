import ClocksSupport

/// The rule by which time moves in a scope, and what happens when it does not.
struct AutoAdvance {
  /// What follows if nothing happens in a scope for some real time.
  enum Reason {
    case pause
    /// Nothing can run, and time does not move.
    case stuck
    /// Nothing but sleeps is left, and an operation without limit keeps time from jumping.
    case held
  }

  let autoAdvance: Bool
  let jumpsAfter: Duration?
  /// Counts the operations that keep time from jumping.
  var holds = 0
  /// Counts those of them that have no limit.
  var unlimitedHolds = 0
  /// Whether nothing has happened since the alarm for a pause rang.
  private var pauseIsOver = false
  /// The purpose of the alarm that was set last; `nil` if something has happened since.
  private var alarm: (number: Int, reason: Reason, patience: Int)?
  private var alarms = 0

  init(autoAdvance: Bool, jumpsAfter: Duration?) {
    self.autoAdvance = autoAdvance
    self.jumpsAfter = jumpsAfter
  }

  /// Whether time may jump at this moment, if there is a deadline.
  var mayJump: Bool { autoAdvance && holds == 0 && (jumpsAfter == nil || pauseIsOver) }

  /// Notes that something happens: the alarm is void.
  mutating func somethingHappens() {
    alarm = nil
    pauseIsOver = false
  }

  /// The alarm to set, now that nothing can happen without time or real time.
  ///
  /// - Parameter patience: How often it is set again if another test has something to run when it rings:
  ///   the scope may wait for an actor that works for that test. Even a free thread may have to wait for
  ///   seconds.
  mutating func setAlarm(_ reason: Reason, in duration: Duration, patience: Int) -> Action.Alarm {
    alarms += 1
    alarm = (alarms, reason, patience)
    return Action.Alarm(number: alarms, duration: duration)
  }

  /// `nil` if something has happened since the alarm was set.
  func reason(ofAlarm number: Int) -> (reason: Reason, patience: Int)? {
    guard let alarm, alarm.number == number else { return nil }
    return (alarm.reason, alarm.patience)
  }

  mutating func endPause() { pauseIsOver = true }

  /// Stops the program if a count is wrong; for tests.
  func checkInvariants() {
    precondition(holds >= unlimitedHolds && unlimitedHolds >= 0, "time was released too often")
  }
}

/// A clock that rings once at an instant of real time, unless it is set again before.
///
/// A new timer starts only for an instant that is earlier than that of the timer under way; a timer that
/// comes too early waits for the rest. So the clock may be set a million times a second.
final class AlarmClock: Sendable {
  /// Guards `setting` and `timer`.
  private let lock = Lock(.leaf)
  /// When to ring, and with which number; `nil` once it has rung.
  nonisolated(unsafe) private var setting: (due: RealTime, number: Int)?
  /// When the earliest timer that is under way comes; `nil` if there is none.
  nonisolated(unsafe) private var timer: RealTime?
  /// Is called with the number when it rings. Set before the clock is.
  nonisolated(unsafe) var ring: @Sendable (_ number: Int) -> Void = { _ in }

  deinit { lock.destroy() }

  /// Sets the clock to ring after `duration`, and no earlier; replaces the setting before. O(1).
  func set(_ number: Int, in duration: Duration) {
    let due = RealTime(in: duration)
    let isEarlier = lock.withLock {
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
      // Another timer has replaced this one.
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
