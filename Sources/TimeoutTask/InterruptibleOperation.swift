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
  /// A task that is there for as long as it is kept here, so nothing is counted.
  ///
  /// It is the one word that `UnsafeCurrentTask` consists of, whose layout the compiler does not know.
  private struct Reference {
    private let word: UInt

    init(_ task: UnsafeCurrentTask) { word = unsafeBitCast(task, to: UInt.self) }

    var task: UnsafeCurrentTask { unsafeBitCast(word, to: UnsafeCurrentTask.self) }
  }

  private enum Phase {
    /// With the task that waits for the operation, if it is to be asked whether it is cancelled.
    case notBegun(for: Reference?)
    case running(Reference)
    /// The task is being cancelled. It may have ended and be waiting.
    case cancelling(UnsafeContinuation<Void, Never>?)
    /// The task is not touched any more: the operation has ended, or has been cancelled.
    case done
  }

  private var phase = Phase.notBegun(for: nil)

  /// Set once, by the first to interrupt.
  private(set) var interruption: Interruption?

  /// A task is going to wait for the operation, and does until the operation has ended.
  ///
  /// If it is cancelled before the operation begins, and before an interruption, it is not the
  /// interruption that cancels the operation.
  mutating func willBegin(for caller: UnsafeCurrentTask?) {
    if case .notBegun = phase { phase = .notBegun(for: caller.map { Reference($0) }) }
  }

  /// The operation begins in its task. Returns whether it has been interrupted before; the task
  /// then has to cancel itself.
  mutating func begin(in task: UnsafeCurrentTask?) -> Bool {
    if interruption != nil {
      phase = .done
    } else if let task {
      phase = .running(Reference(task))
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
    case .notBegun(let caller):
      if caller?.task.isCancelled != true { self.interruption = interruption }
      return nil
    case .running(let reference):
      let task = reference.task
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
