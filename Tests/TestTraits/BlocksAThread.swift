import Testing

/// A trait of tests that block a thread of the pool until another job has run there: one runs at a time.
///
/// The pool has few threads. If there were as many blocking tests as threads, no job could run, and all of them
/// would wait forever.
public struct BlocksAThreadTrait: TestTrait, TestScoping {
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    await Permit.only.take()
    defer { Task { await Permit.only.giveBack() } }
    try await function()
  }

  private actor Permit {
    static let only = Permit()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
      if isTaken {
        await withCheckedContinuation { waiting.append($0) }
      } else {
        isTaken = true
      }
    }

    func giveBack() {
      if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
  }
}

extension Trait where Self == BlocksAThreadTrait {
  /// Keeps other tests from blocking threads of the pool at the same time.
  public static var blocksAThread: Self { Self() }
}
