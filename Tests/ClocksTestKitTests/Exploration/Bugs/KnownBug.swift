import Clocks

/// A typical bug in code with actors and tasks, and its correction.
struct KnownBug: Sendable {
  typealias Operation = @Sendable (VirtualTime) async throws -> Void

  let name: String
  let buggy: Operation
  let corrected: Operation

  static let all: [KnownBug] =
    [
      .lostUpdate, .overdraw, .accountCreation, .transferAudit, .boundedBuffer, .limiter,
      .imageCache, .tokenStampede, .lateStart, .pagination, .leaderElection, .compareAndSet,
      .lockOrders, .philosophers, .lostWakeUp, .lateSubscriber, .shutdown, .orderedQueue,
      .timeoutTie, .staleAnswer, .debounceTie, .cancelAgainstComplete, .quickTaps, .doublePayment,
    ]

  /// Bugs that are harder to find.
  static let hidden = ofChannels + ofLateTasks + ofDepth
}

/// A failed expectation.
struct Violation: Error, Equatable {
  let text: String
}

/// Opaque code between two calls of an actor: the compiler cannot omit the hop away from the actor.
@inline(never)
func log(_ text: String) { withExtendedLifetime(text) {} }

func expect(_ condition: Bool, _ text: String) throws {
  guard condition else { throw Violation(text: text) }
}
