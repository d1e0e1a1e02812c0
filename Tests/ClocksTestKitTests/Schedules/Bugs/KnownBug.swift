import Clocks

/// A bug as people write it, in actors and tasks, and its correction.
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
}

/// The test's expectation does not hold.
struct Violation: Error, Equatable {
  let text: String
}

/// What code does between two calls of an actor: something that the compiler does not see through, so that the
/// task leaves the actor in between.
@inline(never)
func log(_ text: String) { withExtendedLifetime(text) {} }

func expect(_ condition: Bool, _ text: String) throws {
  guard condition else { throw Violation(text: text) }
}
