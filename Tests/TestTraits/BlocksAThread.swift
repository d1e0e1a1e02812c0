import Testing

/// A trait of tests that block a thread of the pool until another job has run there: one runs at a time.
///
/// The pool has few threads. If there were as many blocking tests as threads, no job could run, and all of them
/// would wait forever.
public struct BlocksAThreadTrait: TestTrait, TestScoping {
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Self.permit.run(function)
  }

  private static let permit = Permit()
}

/// Lets one operation run at a time. The others wait in order of arrival.
private actor Permit {
  private var isFree = true
  private var waiting: [CheckedContinuation<Void, Never>] = []

  nonisolated func run<Result>(_ operation: () async throws -> Result) async rethrows -> Result {
    await take()
    defer { Task { await giveBack() } }
    return try await operation()
  }

  private func take() async {
    if isFree { isFree = false } else { await withCheckedContinuation { waiting.append($0) } }
  }

  private func giveBack() {
    if waiting.isEmpty { isFree = true } else { waiting.removeFirst().resume() }
  }
}

extension Trait where Self == BlocksAThreadTrait {
  /// Keeps other tests from blocking threads of the pool at the same time.
  public static var blocksAThread: Self { Self() }
}
