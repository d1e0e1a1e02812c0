import Clocks
import Synchronization

/// Makes contexts whose time is virtual, and moves that time.
///
/// It adds nothing to a test clock but the old words.
final class ContextCoordinator: Sendable {
  let clock: TestClock<Duration>
  private let isStopped = Atomic<Bool>(false)

  init(clock: TestClock<Duration> = TestClock()) {
    self.clock = clock
  }

  /// Makes a context whose timers go by the coordinator's time.
  func context(_ kind: Context.Kind, name: String? = nil) -> Context {
    Context(kind, name: name, clock: clock)
  }

  /// How much time has passed.
  var now: Duration { clock.now.offset }

  /// Runs everything that is scheduled, in the order of time, until nothing is left or ``stop()``
  /// is called.
  func run() async {
    await run { false }
  }

  /// Runs everything that is scheduled up to `time`.
  func run(until time: Duration) async {
    await clock.advance(to: .init(offset: time))
  }

  /// Runs what is scheduled, in the order of time, until `hasEnded` says so; it is asked each time
  /// that nothing more can be done without moving time.
  func run(until hasEnded: () async -> Bool) async {
    isStopped.store(false, ordering: .relaxed)
    await clock.settle()
    while !isStopped.load(ordering: .relaxed), await !hasEnded() {
      guard await clock.advanceToNextSleep() != nil else { return }
    }
  }

  /// Ends a run, when everything that is due at this time has been done; another one goes on from
  /// there.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
  }
}
