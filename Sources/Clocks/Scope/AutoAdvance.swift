/// How time moves by itself in a scope, and what happens when it does not.
struct AutoAdvance {
  /// What comes to pass if nothing happens in a scope for a while of real time.
  enum Reason {
    /// The pause is over that was asked for before time jumps.
    case pause
    /// Nothing can run, and time does not move.
    case stuck
    /// Nothing but sleeps is left, and an operation that may take for ever keeps time from jumping.
    case held
  }

  let autoAdvance: Bool
  let jumpsAfter: Duration?
  /// Counts the operations that keep time from jumping.
  var holds = 0
  /// Counts those of them that nobody brings to an end if they do not end themselves.
  var unlimitedHolds = 0
  /// Whether nothing has happened since the alarm for a pause rang.
  private var pauseIsOver = false
  /// What the alarm is for that was set last; `nil` if something has happened since.
  private var alarm: (number: Int, reason: Reason, patience: Int)?
  /// Counts the alarms.
  private var alarms = 0

  init(autoAdvance: Bool, jumpsAfter: Duration?) {
    self.autoAdvance = autoAdvance
    self.jumpsAfter = jumpsAfter
  }

  /// Whether time may jump at this moment, if there is where to.
  var mayJump: Bool { autoAdvance && holds == 0 && (jumpsAfter == nil || pauseIsOver) }

  /// Notes that something happens: no alarm means anything any more.
  mutating func somethingHappens() {
    alarm = nil
    pauseIsOver = false
  }

  /// The alarm to set, now that nothing can happen by itself.
  ///
  /// - Parameter patience: How often the while begins anew if another test has something to run at
  ///   its end. The scope may wait for an actor that works for that test; and on a busy machine
  ///   even a thread that is free to run may have to wait for seconds.
  mutating func setAlarm(_ reason: Reason, in duration: Duration, patience: Int) -> Action.Alarm {
    alarms += 1
    alarm = (alarms, reason, patience)
    return Action.Alarm(number: alarms, duration: duration)
  }

  /// What the alarm was for that rings now, and whether there is patience left; `nil` if something
  /// has happened since it was set.
  func reason(ofAlarm number: Int) -> (reason: Reason, patience: Int)? {
    guard let alarm, alarm.number == number else { return nil }
    return (alarm.reason, alarm.patience)
  }

  /// Notes that the pause is over.
  mutating func endPause() { pauseIsOver = true }

  /// Stops the program if something is counted wrong; for tests.
  func checkInvariants() {
    precondition(holds >= unlimitedHolds && unlimitedHolds >= 0, "time was let go too often")
  }
}
