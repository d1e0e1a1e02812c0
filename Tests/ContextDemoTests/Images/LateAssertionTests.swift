import Clocks
import Testing

/// Shows how virtual time detects assertions in late callbacks.
@Suite struct LateAssertionTests {
  /// Adds two numbers incorrectly, and calls back after `delay`.
  private static func add(
    _ a: Int, _ b: Int, after delay: Duration = .seconds(3600),
    completion: @escaping @Sendable (Int) -> Void
  ) {
    Task {
      try await Task.sleep(for: delay)
      completion(a - b)
    }
  }

  /// Never fails: the test ends before its assertion runs.
  @Test func assertionAfterTheTestIsLost() {
    Self.add(2, 2) { #expect($0 == 4) }
  }

  /// In virtual time, a pending sleep at the end of a test can be a failure.
  @Test func pendingSleepIsAFailure() async throws {
    try await withKnownIssue {
      try await withVirtualTime(leftoverSleeps: .fail) { _ in
        Self.add(2, 2) { #expect($0 == 4) }
      }
    } matching: { issue in
      "\(issue)".contains("expects that no task sleeps any more")
    }
  }

  /// When the test advances time, the assertion itself fails.
  @Test func assertionFailsAfterAnAdvance() async throws {
    try await withKnownIssue {
      try await withVirtualTime { time in
        Self.add(2, 2) { #expect($0 == 4) }
        await time.advance(by: .seconds(3600))
      }
    } matching: { issue in
      "\(issue)".contains("== 4")
    }
  }

  /// A scope ends when the test is idle, so a callback without a delay runs before its end.
  @Test func assertionWithoutDelayFails() async throws {
    try await withKnownIssue {
      try await withVirtualTime { _ in
        Self.add(2, 2, after: .zero) { #expect($0 == 4) }
      }
    } matching: { issue in
      "\(issue)".contains("== 4")
    }
  }
}
