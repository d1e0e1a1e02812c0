/// Why an operation was cancelled, if its own deadline did it.
enum Interruption: Sendable {
  case deadlinePassed
  case clockFailed(any Error)
}

/// What is known about an operation that a deadline may cancel.
///
/// This is a value that decides; its owner has the lock, and acts after having given it back.
///
/// The deadline cancels the operation's task from outside, so the task must not be gone meanwhile:
/// an operation that ends while it is being cancelled waits until that is over.
struct InterruptibleOperation {
  private enum Phase {
    case notBegun
    case running(UnsafeCurrentTask)
    /// The task is being cancelled. It may have ended and be waiting.
    case cancelling(UnsafeContinuation<Void, Never>?)
    /// The task is not touched any more: the operation has ended, or has been cancelled.
    case done
  }

  private var phase = Phase.notBegun

  /// Set once, by the first to interrupt.
  private(set) var interruption: Interruption?

  /// The operation begins in its task. Returns whether it has been interrupted before; the task
  /// then has to cancel itself.
  mutating func begin(in task: UnsafeCurrentTask?) -> Bool {
    if interruption != nil {
      phase = .done
    } else if let task {
      phase = .running(task)
    }
    return interruption != nil
  }

  /// Returns the task that has to be cancelled now, after which `cancelled()` is to be called; or
  /// `nil` if there is nothing to do.
  ///
  /// An operation that has been cancelled by somebody else is not interrupted any more: what it
  /// makes of that is its caller's to hear.
  mutating func interrupt(_ interruption: Interruption) -> UnsafeCurrentTask? {
    guard self.interruption == nil else { return nil }
    switch phase {
    case .notBegun:
      self.interruption = interruption
      return nil
    case .running(let task):
      if task.isCancelled { return nil }
      self.interruption = interruption
      phase = .cancelling(nil)
      return task
    case .cancelling, .done:
      return nil
    }
  }

  /// The task has been cancelled. Returns whom to resume.
  mutating func cancelled() -> UnsafeContinuation<Void, Never>? {
    guard case .cancelling(let waiting) = phase else { return nil }
    phase = .done
    return waiting
  }

  /// The operation has ended. Returns whether its task has to wait.
  mutating func end() -> Bool {
    if case .cancelling = phase { return true }
    phase = .done
    return false
  }

  /// Lets the operation's task wait. Returns `false` if there is nothing to wait for any more.
  mutating func wait(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    guard case .cancelling = phase else { return false }
    phase = .cancelling(continuation)
    return true
  }
}
