import Testing

/// Runs a test while no other one does that has this trait, too: it blocks a thread of the pool until
/// something else has run there.
///
/// The pool has few threads. If as many tests as it has threads each block one, nothing runs any more, and
/// none of them ever goes on.
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
