import Clocks

/// Something that beats once a second and can be stopped, written twice.
protocol Heartbeat: Sendable {
  func begin() async
  func end() async
  /// How often it has beaten.
  var beats: Int { get async }
}

/// The old idea: a context keeps the state safe, a timer calls back, a lifetime ends it.
///
/// Nothing but care keeps anyone from touching `state` elsewhere.
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

/// Today's idea: an actor is context and state in one, and the compiler sees to it; a timer is a
/// loop, and a lifetime is a task.
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
