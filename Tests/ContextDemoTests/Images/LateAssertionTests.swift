import Clocks
import Testing

/// Assertions in callbacks that come late, and how they are caught.
@Suite struct LateAssertionTests {
  /// Adds two numbers, with a mistake, and calls back a while later.
  private static func add(
    _ a: Int, _ b: Int, after delay: Duration = .seconds(3600),
    completion: @escaping @Sendable (Int) -> Void
  ) {
    Task {
      try await Task.sleep(for: delay)
      completion(a - b)
    }
  }

  /// The classic test that can never fail: it is over before its assertion is reached.
  @Test func neverFails() {
    Self.add(2, 2) { #expect($0 == 4) }
  }

  /// The same, in virtual time: a test that is over while something still sleeps is a failure.
  @Test func isCaughtBecauseSomethingStillSleeps() async throws {
    try await withKnownIssue {
      try await withVirtualTime(leftoverSleeps: .fail) { _ in
        Self.add(2, 2) { #expect($0 == 4) }
      }
    } matching: { issue in
      "\(issue)".contains("expects that no task sleeps any more")
    }
  }

  /// And when the test waits, which costs nothing, the assertion itself fails.
  @Test func failsWhereTheMistakeIs() async throws {
    try await withKnownIssue {
      try await withVirtualTime { time in
        Self.add(2, 2) { #expect($0 == 4) }
        await time.advance(by: .seconds(3600))
      }
    } matching: { issue in
      "\(issue)".contains("== 4")
    }
  }

  /// A callback that has nothing to wait for, and so could come after the end of the test, comes
  /// before it.
  @Test func failsEvenIfTheTestDoesNotWait() async throws {
    try await withKnownIssue {
      try await withVirtualTime { _ in
        Self.add(2, 2, after: .zero) { #expect($0 == 4) }
      }
    } matching: { issue in
      "\(issue)".contains("== 4")
    }
  }
}
