import Clocks
import Foundation

/// A place where synchronous work runs, for code that is told where from outside.
///
/// Five kinds of place behind one interface, as libraries for callbacks have them. Code that may be
/// written anew needs none of it: see ``ActorHeartbeat``.
final class Context: Sendable {
  enum Kind: CaseIterable, Sendable {
    /// Here and now, wherever the caller is.
    case direct
    /// Soon, on the main actor.
    case main
    /// Soon, and perhaps at the same time as other work.
    case concurrent
    /// Now, in the caller's time, but never at the same time as other work of this context.
    case serialSynchronous
    /// Soon, one after another, in the order in which it was handed in.
    case serialAsynchronous
  }

  let kind: Kind
  let name: String
  /// By which the context's timers go.
  let clock: AnyClock<Duration>

  /// Is held while work of a serial and synchronous context runs.
  private let lock = NSLock()
  /// The work of a serial and asynchronous context; it ends with the context.
  private let inbox: AsyncStream<@Sendable () -> Void>.Continuation?
  private let start: AnyClock<Duration>.Instant

  /// Makes a context whose timestamps count from now.
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

  /// Has `work` run in this context: before the call returns, if it is a direct or a synchronous
  /// one, and soon, if not.
  func invoke(_ work: @escaping @Sendable () -> Void) {
    switch kind {
    case .direct: work()
    case .main: Task { @MainActor in enter(work) }
    case .concurrent: Task.detached { self.enter(work) }
    // Work that hands in more work is there already.
    case .serialSynchronous: isCurrent ? work() : lock.withLock { enter(work) }
    case .serialAsynchronous: inbox?.yield { self.enter(work) }
    }
  }

  /// Runs `work` in this context, and returns what it returns.
  func invokeAndWait<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      invoke { continuation.resume(returning: work()) }
    }
  }

  // MARK: - Where and when

  /// How much of the clock's time has passed since the context was made.
  var timestamp: Duration { start.duration(to: clock.now) }

  /// The context whose work is running here, or `nil` if none is.
  ///
  /// Work of a direct context is work of the caller's.
  static var current: Context? {
    guard let occupant, occupant.task == taskID else { return nil }
    return occupant.context
  }

  /// Whether work of this context is running here.
  var isCurrent: Bool { Self.current === self }

  /// Who is at work, and in which task: tasks that it starts inherit the value, but are elsewhere.
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
