/// The rule by which time moves in a scope, and what happens when it does not.
struct AutoAdvance {
  /// What follows if nothing happens in a scope for some real time.
  enum Reason {
    /// The pause before a jump is over.
    case pause
    /// Nothing can run, and time does not move.
    case stuck
    /// Nothing but sleeps is left, and an operation that may take arbitrarily long keeps time from
    /// jumping.
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
  /// Counts the alarms.
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
  /// - Parameter patience: How often the alarm is set again if another test has something to run when
  ///   it rings. The scope may wait for an actor that works for that test. On a busy machine, even a
  ///   thread that is free to run may have to wait for seconds.
  mutating func setAlarm(_ reason: Reason, in duration: Duration, patience: Int) -> Action.Alarm {
    alarms += 1
    alarm = (alarms, reason, patience)
    return Action.Alarm(number: alarms, duration: duration)
  }

  /// The purpose of the alarm that rings now, and its patience; `nil` if something has happened since
  /// it was set.
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
