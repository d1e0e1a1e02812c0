/// The tasks that outlived the clocks of their tests: the loop of a shared object, for example.
///
/// The tasks are not retained, and their ends are not seen.
struct LeftoverTasks {
  final class Test: Sendable {
    fileprivate let isOver: @Sendable () -> Bool

    init(isOver: @escaping @Sendable () -> Bool) { self.isOver = isOver }
  }

  private static let limit = 4_096

  private var tests: [UInt64: Test] = [:]

  var isEmpty: Bool { tests.isEmpty }

  /// Adds tasks, and forgets the older half of all if there are too many. Returns tests to release without a
  /// lock. Amortized O(tasks).
  mutating func add(_ tasks: [UInt64], of test: Test) -> [Test] {
    for task in tasks { tests[task] = test }
    guard tests.count > Self.limit else { return [] }
    return tests.keys.sorted().prefix(tests.count / 2).compactMap { tests.removeValue(forKey: $0) }
  }

  /// Removes a task, unless its test still runs. Returns the test, which the caller releases without a lock.
  mutating func removeIfTestOver(_ task: UInt64) -> Test? {
    guard let test = tests[task], test.isOver() else { return nil }
    return tests.removeValue(forKey: task)
  }
}
