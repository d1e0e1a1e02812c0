import ClocksSupport

/// A clock that rings once at an instant of real time, unless it is set again before.
///
/// The last setting counts. A new timer starts only for an instant that is earlier than that of the
/// timer under way; a timer that comes too early waits for the rest. So the clock may be set a million
/// times a second.
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
    enum Next {
      case nothing
      case wait(RealTime)
      case ring(Int)
    }
    let next: Next = lock.withLock {
      // Another timer has replaced this one.
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
