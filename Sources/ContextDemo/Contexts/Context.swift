import Clocks
import Foundation

/// An execution context that the caller chooses for synchronous work.
///
/// The type offers five kinds of context behind one interface, as callback libraries do. New code
/// needs no such type: see ``ActorHeartbeat``.
final class Context: Sendable {
  enum Kind: CaseIterable, Sendable {
    /// Runs work immediately, in the context of the caller.
    case direct
    /// Enqueues work on the main actor.
    case main
    /// Enqueues work that may run concurrently with other work.
    case concurrent
    /// Runs work on the caller's thread before the call returns, one piece of work at a time.
    case serialSynchronous
    /// Enqueues work and runs one piece at a time, in the order of submission.
    case serialAsynchronous
  }

  let kind: Kind
  let name: String
  /// The clock of the timers and the timestamp.
  let clock: AnyClock<Duration>

  /// Held while work of a `.serialSynchronous` context runs.
  private let lock = NSRecursiveLock()
  /// The queue of a `.serialAsynchronous` context.
  private let inbox: AsyncStream<@Sendable () -> Void>.Continuation?
  private let start: AnyClock<Duration>.Instant

  /// Creates a context whose timestamp starts at zero.
  init(_ kind: Kind, name: String? = nil, clock: any Clock<Duration> = ContinuousClock()) {
    self.kind = kind
    self.name = name ?? "\(kind)"
    self.clock = AnyClock(clock)
    start = self.clock.now
    guard kind == .serialAsynchronous else {
      inbox = nil
      return
    }
    let (stream, continuation) = AsyncStream<@Sendable () -> Void>.makeStream()
    inbox = continuation
    Task {
      for await work in stream { work() }
    }
  }

  deinit { inbox?.finish() }

  // MARK: - Work

  /// Runs `work` before the call returns in a direct or synchronous context; otherwise enqueues it.
  func invoke(_ work: @escaping @Sendable () -> Void) {
    switch kind {
    case .direct: work()
    case .main: Task { @MainActor in enter(work) }
    case .concurrent: Task.detached { self.enter(work) }
    // Work may invoke more work, so the lock is recursive.
    case .serialSynchronous: lock.withLock { enter(work) }
    case .serialAsynchronous: inbox?.yield { self.enter(work) }
    }
  }

  /// Runs `work` in this context and returns its result.
  func invokeAndWait<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      invoke { continuation.resume(returning: work()) }
    }
  }

  // MARK: - Current context and time

  /// The time on the clock since the creation of the context.
  var timestamp: Duration { start.duration(to: clock.now) }

  /// The context in which the caller runs, or `nil`.
  ///
  /// Work of a direct context runs in the context of its caller.
  static var current: Context? {
    guard let occupant, occupant.task == taskID else { return nil }
    return occupant.context
  }

  /// The current context and its task. A new task inherits this value, but does not run in the context.
  private struct Occupant: Sendable {
    let context: Context
    let task: Int?
  }

  @TaskLocal private static var occupant: Occupant?

  private static var taskID: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  private func enter(_ work: () -> Void) {
    Self.$occupant.withValue(Occupant(context: self, task: Self.taskID), operation: work)
  }
}
