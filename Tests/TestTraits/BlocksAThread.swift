import Testing

/// A trait of tests that block a thread of the pool until another job has run there: one runs at a time.
///
/// The pool has few threads. If there were as many blocking tests as threads, no job could run, and all of them
/// would wait forever.
public struct BlocksAThreadTrait: TestTrait, TestScoping {
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Self.permits.run(function)
  }

  private static let permits = Permits(1)
}

/// Lets at most so many operations run at the same time. The others wait in order of arrival.
actor Permits {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  nonisolated func run<Result>(_ operation: () async throws -> Result) async rethrows -> Result {
    await take()
    defer { Task { await giveBack() } }
    return try await operation()
  }

  private func take() async {
    if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
  }

  private func giveBack() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}

extension Trait where Self == BlocksAThreadTrait {
  /// Keeps other tests from blocking threads of the pool at the same time.
  public static var blocksAThread: Self { Self() }
}
