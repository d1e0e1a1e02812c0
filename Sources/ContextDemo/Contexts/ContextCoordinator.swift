import Clocks
import Synchronization

/// Creates contexts on a test clock and advances that clock.
///
/// Offers the operations of a test clock under the names that callback libraries use.
final class ContextCoordinator: Sendable {
  let clock: TestClock<Duration>
  private let isStopped = Atomic<Bool>(false)

  init(clock: TestClock<Duration> = TestClock()) {
    self.clock = clock
  }

  func context(_ kind: Context.Kind, name: String? = nil) -> Context {
    Context(kind, name: name, clock: clock)
  }

  /// The time since the creation of the clock.
  var now: Duration { clock.now.offset }

  /// Runs all scheduled work in the order of time until none is left or until ``stop()``.
  func run() async {
    await run { false }
  }

  /// Runs all work that is scheduled up to `time`.
  func run(until time: Duration) async {
    await clock.advance(to: .init(offset: time))
  }

  /// Runs scheduled work in the order of time until `hasEnded` returns `true`.
  ///
  /// Evaluates `hasEnded` before each advance of the clock, when the test is idle.
  func run(until hasEnded: () async -> Bool) async {
    isStopped.store(false, ordering: .relaxed)
    await clock.settle()
    while !isStopped.load(ordering: .relaxed), await !hasEnded() {
      guard await clock.advanceToNextSleep() != nil else { return }
    }
  }

  /// Ends the current run after all work that is due at this time.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
  }
}
