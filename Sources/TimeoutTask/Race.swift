/// A suspended task. It is resumed with an error if it is to stop waiting, and without one if there
/// is an outcome.
typealias Waiter = UnsafeContinuation<Void, any Error>

/// All that is known about a `TimeoutTask`, but for its outcome.
///
/// It goes through three phases: undecided; decided, while the timer is being cancelled; and
/// announced, with an outcome that can be read. The one caller whose `decide()` succeeds announces.
struct Race {
  /// Whether some outcome has won. Never goes back.
  private(set) var isDecided = false

  /// Empty once there is an outcome.
  var waiters = WaiterQueue<Waiter>()

  /// What is to be cancelled; nothing once an outcome has won.
  private(set) var running = Running()

  /// Lets an outcome win, and returns the tasks that were running; or `nil` if one has won before.
  mutating func decide() -> Running? {
    if isDecided { return nil }
    isDecided = true
    defer { running = Running() }
    return running
  }

  /// Keeps the tasks that are to be cancelled, and returns whether that was in time.
  mutating func keep(_ tasks: Running) -> Bool {
    if !isDecided { running = tasks }
    return !isDecided
  }

  mutating func takeWaiters() -> WaiterQueue<Waiter> {
    defer { waiters = WaiterQueue() }
    return waiters
  }
}

/// The tasks of a `TimeoutTask`; each is `nil` before it is known, and if there is none.
struct Running {
  /// Sleeps until the deadline.
  var timer: Task<Void, Never>?
  /// Runs the operation.
  var work: Task<Void, Never>?
}

/// What the outcome that won has ended.
struct Decision {
  /// Those who waited. They have been resumed.
  let waiters: WaiterQueue<Waiter>
  /// The task that runs the operation. It has not been cancelled.
  let work: Task<Void, Never>?
}
