/// Keeps count of work that is done elsewhere, on a thread or in another process, so that virtual
/// time can stand still meanwhile.
///
/// A test clock knows when the tasks of a test can do no more. It does not know that a server is
/// about to answer one of them. So whoever waits for a server says so, here, and whoever moves time
/// asks first.
actor OutsideWork {
  private var count = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Whether something is being done elsewhere.
  var isUnderWay: Bool { count > 0 }

  /// Runs `work`, which waits for something that happens elsewhere.
  nonisolated func wait<Value: Sendable>(
    for work: @Sendable () async throws -> Value
  ) async rethrows -> Value {
    await begin()
    do {
      let value = try await work()
      await end()
      return value
    } catch {
      await end()
      throw error
    }
  }

  /// Returns when nothing is being done elsewhere any more.
  func finished() async {
    guard count > 0 else { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func begin() {
    count += 1
  }

  private func end() {
    count -= 1
    guard count == 0 else { return }
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
