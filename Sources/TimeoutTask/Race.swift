/// A suspended task. It is resumed with an error if it is to stop waiting, and without one if there
/// is an outcome.
typealias Waiter = UnsafeContinuation<Void, any Error>

/// All that is known about a `TimeoutTask`.
///
/// It goes through three phases: undecided; decided, while the timer is being cancelled; and
/// announced, with an outcome that can be read. The one caller whose `decide()` succeeds announces.
struct Race {
  /// Whether some outcome has won. Never goes back.
  private(set) var isDecided = false

  /// The outcome that has won: an error, or the place of the work's result. Set once and never
  /// changed, and freed by whoever has the race.
  private(set) var outcome: Outcome?

  /// Empty once there is an outcome.
  var waiters = WaiterQueue<Waiter>()

  /// What is to be cancelled; nothing once an outcome has won.
  private(set) var running = Running()

  /// Lets an outcome win, and returns what was running; or `nil` if one has won before.
  mutating func decide() -> Running? {
    if isDecided { return nil }
    isDecided = true
    defer { running = Running() }
    return running
  }

  /// Keeps what is to be cancelled, and returns whether that was in time.
  mutating func keep(_ tasks: Running) -> Bool {
    if !isDecided { running = tasks }
    return !isDecided
  }

  /// Makes the outcome readable, and returns those who wait for it.
  mutating func announce(_ outcome: Outcome) -> WaiterQueue<Waiter> {
    self.outcome = outcome
    defer { waiters = WaiterQueue() }
    return waiters
  }

  /// The place of the work's result, if that has won.
  var result: UnsafeMutableRawPointer? {
    if case .success(let place) = outcome { place } else { nil }
  }
}

/// The outcome of a `TimeoutTask`, of which the result is elsewhere: so its type is known here.
typealias Outcome = Result<UnsafeMutableRawPointer, any Error>

/// What a `TimeoutTask` has running; each is `nil` before it is known, and if there is none.
struct Running {
  /// Waits for the deadline.
  var timer: Timer?
  /// Runs the operation.
  var work: Task<Void, Never>?
}

/// What the outcome that won has ended.
struct Decision {
  /// Whether somebody waited. They have been resumed.
  let hadWaiters: Bool
  /// The task that runs the operation. It has not been cancelled.
  let work: Task<Void, Never>?
}
