import ClocksSupport

/// How a failure reaches the test for which a scheduler works.
struct TestReport: Sendable {
  /// Where the test made its first clock, or began the scope.
  let origin: CallSite
  /// Makes the test fail; to be called by one of its tasks.
  let record: @Sendable (String) -> Void
  /// Records what none of its tasks can; `nil` if the test is not known.
  private let context: TestContext?

  /// - Parameters:
  ///   - isTestKnown: Whether the current task is the test's.
  ///   - record: Makes the test fail; by default at `origin`.
  init(
    at origin: CallSite, isTestKnown: Bool, record: (@Sendable (String) -> Void)? = nil
  ) {
    self.origin = origin
    if let record {
      self.record = { record($0.withCapabilityNote) }
    } else {
      self.record = { recordFailure($0, at: origin) }
    }
    context = isTestKnown ? TestContext() : nil
  }

  /// Runs `body` on behalf of the test, on the current thread, which is not the test's: to record a failure.
  func runInTest(_ body: @escaping @Sendable () -> Void) {
    if let context { context.run(body) } else { body() }
  }
}
