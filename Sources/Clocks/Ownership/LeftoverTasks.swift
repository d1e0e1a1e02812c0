/// The tasks that outlived the clocks of their tests: the loop of a shared object, for example.
///
/// The tasks are not retained, and their ends are not seen.
struct LeftoverTasks {
  /// Returns whether the test of a task is over.
  typealias TestIsOver = @Sendable () -> Bool

  private struct Test {
    /// `TaskOwner.maker` of the owner whose clocks are gone.
    let maker: UInt64
    let isOver: TestIsOver
  }

  private static let limit = 4_096
  private static let isOver: TestIsOver = { true }

  private var tests: [UInt64: Test] = [:]
  /// The tasks whose tests may still run, as far as is known.
  private var underWay: [UInt64] = []

  var isEmpty: Bool { tests.isEmpty }

  /// Adds tasks, and forgets the older half of all if there are too many. Returns closures to release without a lock.
  /// Amortized O(tasks).
  mutating func add(
    _ tasks: [UInt64], madeFor maker: UInt64 = 0, _ testIsOver: @escaping TestIsOver
  ) -> [TestIsOver] {
    let test = Test(maker: maker, isOver: testIsOver)
    let replaced =
      releaseTests() + tasks.compactMap { tests.updateValue(test, forKey: $0)?.isOver }
    underWay += tasks
    // Tasks that were removed are still in the list.
    defer { if underWay.count > 2 * tests.count + 16 { underWay.removeAll { tests[$0] == nil } } }
    guard tests.count > Self.limit else { return replaced }
    let oldest = tests.keys.sorted().prefix(tests.count / 2)
    return replaced + oldest.compactMap { tests.removeValue(forKey: $0)?.isOver }
  }

  /// Returns the closures that retain tests that are over, to release without a lock. O(tasks), with at most 16 checks.
  ///
  /// A test retains its own tasks, which takes some 16 KB, and most tests end soon after their last clock is gone.
  private mutating func releaseTests() -> [TestIsOver] {
    let candidates = underWay.prefix(16)
    underWay.removeFirst(candidates.count)
    return candidates.compactMap { task in
      guard let test = tests[task] else { return nil }
      guard test.isOver() else {
        underWay.append(task)
        return nil
      }
      return tests.updateValue(Test(maker: test.maker, isOver: Self.isOver), forKey: task)?.isOver
    }
  }

  /// Removes a task if its test is over, or is the one that `maker` identifies. Returns a closure to release without a
  /// lock.
  mutating func removeIfTestOver(_ task: UInt64, orMadeFor maker: UInt64 = 0) -> TestIsOver? {
    guard let test = tests[task], maker != 0 && test.maker == maker || test.isOver() else {
      return nil
    }
    return tests.removeValue(forKey: task)?.isOver
  }
}
