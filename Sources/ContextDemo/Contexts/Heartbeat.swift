import Clocks

/// Counts one beat a second until it is stopped. Implemented with a context and with an actor.
protocol Heartbeat: Sendable {
  func begin() async
  func end() async
  var beats: Int { get async }
}

/// Protects its state with a context, counts in a timer callback and stops by releasing a lifetime.
///
/// The compiler does not check that `state` is used in the context only.
final class ContextHeartbeat: Heartbeat {
  private let context: Context
  private let state = State()

  private final class State: @unchecked Sendable {
    var beats = 0
    var timer: Lifetime?
  }

  init(context: Context) {
    self.context = context
  }

  func begin() async {
    await context.invokeAndWait { [context, state] in
      state.timer = context.periodicTimer(interval: .seconds(1)) { state.beats += 1 }
    }
  }

  func end() async {
    await context.invokeAndWait { [state] in state.timer = nil }
  }

  var beats: Int {
    get async { await context.invokeAndWait { [state] in state.beats } }
  }
}

/// Protects its state as an actor, counts in a loop and stops by cancelling a task.
actor ActorHeartbeat: Heartbeat {
  private let clock: AnyClock<Duration>
  private(set) var beats = 0
  private var timer: Task<Void, Never>?

  init(clock: any Clock<Duration>) {
    self.clock = AnyClock(clock)
  }

  func begin() {
    timer?.cancel()
    timer = Task { await count() }
  }

  func end() {
    timer?.cancel()
  }

  private func count() async {
    for await _ in clock.timer(interval: .seconds(1)) { beats += 1 }
  }
}
