import ClocksSupport

/// The forgotten advances that were reported: tasks of the current test sleep on clocks that it does not advance.
///
/// After a report the sleeps end, so the test may sleep again. Another report says something new only if the test
/// sleeps on a clock that was made at another place, or whose time has moved since.
struct ForgottenAdvances {
  /// How often sleeps end, at most, without another report. A test that sleeps again after that counts as stuck.
  private static let mostRepetitions = 50

  /// A clock, known by the place where it was made, at an instant of its time.
  private struct Moment: Hashable {
    let file: String
    let line: UInt
    let now: Duration

    init(_ clock: VirtualClock) {
      file = "\(clock.origin?.fileID ?? "")"
      line = clock.origin?.line ?? 0
      now = clock.now
    }
  }

  /// The test to which `moments` belong.
  private var test: UInt64?
  private var moments: Set<Moment> = []
  private var repetitions = 0

  enum Knowledge {
    /// A report would say something new.
    case new
    /// A report has said it, and the sleeps may end without another one.
    case known
    /// The test slept again after each of `mostRepetitions` ends.
    case endless
  }

  /// Returns how far earlier reports cover these clocks, on which tasks of the test sleep. O(clocks).
  func knowledge(of clocks: some Sequence<VirtualClock>, in test: UInt64) -> Knowledge {
    guard test == self.test, clocks.allSatisfy({ moments.contains(Moment($0)) })
    else { return .new }
    return repetitions < Self.mostRepetitions ? .known : .endless
  }

  /// Notes a report about these clocks.
  mutating func note(_ clocks: some Sequence<VirtualClock>, in test: UInt64) {
    if test != self.test { (self.test, moments, repetitions) = (test, [], 0) }
    moments.formUnion(clocks.map(Moment.init))
  }

  /// Notes that sleeps end without a report.
  mutating func noteRepetition() { repetitions += 1 }
}

extension Scheduler {
  /// The test to which forgotten advances belong: 0 for a scope, `.max` while it is not known.
  ///
  /// Of several tests that share a clock, it is the oldest one that is not over.
  private var testOfAdvances: UInt64 {
    guard isTestKnown else { return .max }
    if isProcessWide { return currentXCTest ?? 0 }
    return change { $0.scope == nil ? $0.testLifetime.unfinished.min() ?? 0 : 0 }
  }

  /// How far earlier reports cover the clocks on which the test's tasks sleep.
  var knowledgeOfAdvances: ForgottenAdvances.Knowledge {
    let test = testOfAdvances
    return change { state in
      let clocks = state.virtualClocks.filter(\.hasSleeps)
      return clocks.isEmpty ? .new : state.forgottenAdvances.knowledge(of: clocks, in: test)
    }
  }

  /// Whether tasks of the test sleep on clocks, and the watchdog will end these sleeps if nothing else happens.
  var mayForgetToAdvance: Bool {
    guard isTestKnown, change({ $0.virtualClocks.contains(where: \.hasSleeps) }) else {
      return false
    }
    return knowledgeOfAdvances != .endless
  }

  /// Notes that a report follows: the test does not advance the clocks on which its tasks sleep.
  func noteForgottenAdvance() {
    let test = testOfAdvances
    change { $0.forgottenAdvances.note($0.virtualClocks.filter(\.hasSleeps), in: test) }
  }
}
