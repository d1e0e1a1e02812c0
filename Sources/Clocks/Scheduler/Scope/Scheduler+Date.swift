import ClocksSupport

// Code of the test may read a clock in a signal handler. The handler may have interrupted a thread that holds the
// scheduler's lock, or the memory allocator's. So a reading takes neither. The microsecond that passes with it
// (`ClockPolling`) is left out if the lock is not available.
extension Scheduler {
  #if !canImport(CRT) && !canImport(WASILibc)
    /// Returns the reading of a system clock in the scope's time; `nil` if that is real.
    func virtualReading(of clock: clockid_t) -> timespec? {
      let isDate = SystemClocks.isDate(clock)
      guard let scope, isVirtual, !isDate || scope.options.freezesDate,
        let published = scope.virtualClock.published
      else { return nil }
      return scope.start.reading(of: clock, after: published.time(ofDate: isDate))
    }
  #endif
}

/// A timed callback that waits for its instant in a scope.
struct PendingCallback {
  var sleep: SleepQueue.Token
  let details: SleepQueue.Details
  /// The date for which the callback waits, measured from the scope's first date; `nil` if it waits for a duration.
  let date: Duration?
}

extension Scheduler {
  /// The present readings of the system's clocks for the scope's tasks; `nil` if the tasks see real time.
  var systemClocks: SystemClocks? {
    guard let scope, isVirtual else { return nil }
    let (now, dateOffset) = change { (scope.virtualClock.now, $0.scope?.dateOffset ?? .zero) }
    return scope.start.advanced(by: now, andDateBy: dateOffset)
  }

  /// The value of `Date()` for the scope's tasks, as the time since 1970.
  var date: Duration {
    get {
      guard let scope else { return .zero }
      let passed = change { $0.scope?.date(at: scope.virtualClock.now) ?? .zero }
      return saturatingSum(scope.start.sinceEpoch, passed)
    }
    set {
      guard let scope else { return }
      change { state in
        state.scope?.dateOffset = saturatingDifference(
          saturatingDifference(newValue, scope.start.sinceEpoch), scope.virtualClock.now)
        if let offset = state.scope?.dateOffset {
          scope.virtualClock.published?.dateOffset.write(offset)
        }
        state.scope?.dateWasSet()
      }
    }
  }
}

extension ScopeState {
  /// The date at an instant of the scope's time, measured from the scope's first date.
  func date(at instant: Duration) -> Duration { saturatingSum(instant, dateOffset) }

  /// The instant at which a date comes, as long as the date is not set. It may have passed.
  func instant(of date: Duration) -> Duration { saturatingDifference(date, dateOffset) }

  /// Moves the callbacks that wait for dates to the instants at which these dates come now.
  ///
  /// An instant may have passed. Such callbacks begin as soon as time may move, in the order of their dates.
  func dateWasSet() {
    for (id, callback) in timedCallbacks {
      guard let date = callback.date,
        case .work(let work)? = virtualClock.sleeps.cancel(callback.sleep)
      else { continue }
      timedCallbacks[id]?.sleep = virtualClock.sleeps.add(
        .work(work), until: instant(of: date), name: work.name,
        details: callback.details, as: callback.sleep.number)
    }
    // A thread outside the scope may have set the date while the scope is idle.
    mustSetAlarm = true
  }
}
