/// Why a deadline cancelled its operation.
enum Interruption: Sendable {
  case deadlinePassed
  /// The clock's `sleep` threw this error.
  case clockFailed(any Error)
}

/// The state of an operation that a deadline may cancel.
///
/// The functions only change the state, and return what to do. The owner calls them under a lock,
/// and carries out what they return after it has released the lock.
///
/// The deadline cancels the operation's task from another thread, so the task has to exist until the call of `cancel()`
/// returns. Thread A decides to cancel the task and releases the lock. Thread B comes to the end of the operation: the
/// task suspends in `wait(_:)` until thread A has cancelled it and called `cancelled()`.
struct InterruptibleOperation {
  /// An unowned reference to a task. The task must outlive the reference.
  ///
  /// `UnsafeCurrentTask` consists of this one word, but the compiler does not know its layout.
  private struct Reference {
    private let word: UInt

    init(_ task: UnsafeCurrentTask) { word = unsafeBitCast(task, to: UInt.self) }

    var task: UnsafeCurrentTask { unsafeBitCast(word, to: UnsafeCurrentTask.self) }
  }

  private enum Phase {
    /// `caller` is the task that waits for the operation; `nil` if its cancellation need not be checked.
    case notBegun(caller: Reference?)
    case running(Reference)
    /// A thread is cancelling the task. If the operation has ended meanwhile, the continuation is
    /// the one that resumes the task.
    case cancelling(UnsafeContinuation<Void, Never>?)
    /// The deadline has passed, or the operation has ended. The task is not used any more.
    case settled
  }

  private var phase = Phase.notBegun(caller: nil)

  /// Why the deadline cancelled the operation. Set at most once.
  private(set) var interruption: Interruption?

  /// Whether the deadline has not passed, and the operation has not ended.
  var isPending: Bool {
    switch phase {
    case .notBegun, .running: true
    case .cancelling, .settled: false
    }
  }

  /// Registers the caller, a task that must stay in memory until the operation ends.
  ///
  /// If the caller is cancelled before the operation begins, a later deadline does not interrupt
  /// the operation.
  mutating func willBegin(for caller: UnsafeCurrentTask?) {
    if case .notBegun = phase { phase = .notBegun(caller: caller.map { Reference($0) }) }
  }

  /// Registers the task that runs the operation. Returns whether it was interrupted and must cancel itself.
  mutating func begin(in task: UnsafeCurrentTask?) -> Bool {
    if case .notBegun = phase, let task { phase = .running(Reference(task)) }
    return interruption != nil
  }

  /// Returns the task to cancel, or `nil`. After the task has been cancelled, `cancelled()` has to be called.
  ///
  /// If the task was cancelled for another reason, the operation is not interrupted, so the caller
  /// gets the operation's error unchanged.
  mutating func interrupt(_ interruption: Interruption) -> UnsafeCurrentTask? {
    switch phase {
    case .notBegun(let caller):
      if caller?.task.isCancelled != true { self.interruption = interruption }
      phase = .settled
      return nil
    case .running(let reference):
      phase = .settled
      if reference.task.isCancelled { return nil }
      self.interruption = interruption
      phase = .cancelling(nil)
      return reference.task
    case .cancelling, .settled:
      return nil
    }
  }

  /// Ends a cancellation. Returns the continuation to resume, if the operation has ended meanwhile.
  mutating func cancelled() -> UnsafeContinuation<Void, Never>? {
    guard case .cancelling(let waiting) = phase else { return nil }
    phase = .settled
    return waiting
  }

  /// Ends the operation. Returns whether its task has to wait for a cancellation to end.
  mutating func end() -> Bool {
    if case .cancelling = phase { return true }
    phase = .settled
    return false
  }

  /// Keeps the continuation for `cancelled()`. Returns `false` if the cancellation has ended
  /// already.
  mutating func wait(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    guard case .cancelling = phase else { return false }
    phase = .cancelling(continuation)
    return true
  }
}
