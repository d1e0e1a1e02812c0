import ClocksSupport

/// Rings once at an instant of real time, unless it is set anew before.
///
/// Whatever was asked for last counts. There is at most one timer for each time that an earlier
/// instant than before was asked for: a timer that comes too early waits for the rest. So it may be
/// set a million times a second.
final class AlarmClock: Sendable {
  /// Guards what follows. Nothing is called while it is held.
  private let lock = Lock()
  /// When to ring, and with which number; `nil` once it has rung.
  nonisolated(unsafe) private var setting: (due: RealTime, number: Int)?
  /// When the earliest timer that is under way comes; `nil` if there is none.
  nonisolated(unsafe) private var timer: RealTime?
  /// What is done with the number when it rings. Set before the clock is.
  nonisolated(unsafe) var ring: @Sendable (_ number: Int) -> Void = { _ in }

  deinit { lock.destroy() }

  /// Has the clock ring after `duration`, and no earlier; what it was set to before is forgotten.
  /// O(1).
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
    enum Next {
      case nothing
      case wait(RealTime)
      case ring(Int)
    }
    let next: Next = lock.withLock {
      // Another timer has taken this one's place.
      guard timer == instant else { return .nothing }
      timer = nil
      guard let setting else { return .nothing }
      guard setting.due.hasPassed else {
        timer = setting.due
        return .wait(setting.due)
      }
      self.setting = nil
      return .ring(setting.number)
    }
    switch next {
    case .nothing: break
    case .wait(let due): startTimer(due)
    case .ring(let number): ring(number)
    }
  }
}
