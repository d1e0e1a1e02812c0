import Clocks
public import Testing

/// Runs tests in many orders of their jobs, in virtual time, and reports the shortest explanation of one that
/// fails.
///
/// ```swift
/// @Test(.schedules) func oneDownloadPerKey() async throws {
///   let cache = ImageCache(download: { _ in Image() })
///   async let first = cache.image(for: "cat")
///   async let second = cache.image(for: "cat")
///   _ = try await (first, second)
///   #expect(await cache.downloads == 1)
/// }
/// ```
///
/// Each test, and each test case of a parameterized test, is explored on its own, as in `withSchedules`, which
/// says what is found and what is not. A suite's instance is made anew for each run. It implies virtual time;
/// what ``VirtualTimeTrait`` is given beside it holds for each run. On a suite, the trait is that of each of
/// its tests.
///
/// Issues are kept back while orders are tried. Then the smallest order that fails is run once more, with
/// issues let through: the test fails once, at its true place, and the explanation stands beside it. Issues of
/// a detached task are not the test's, here as elsewhere.
public struct SchedulesTrait: TestTrait, SuiteTrait, TestScoping {
  var count: ScheduleCount
  var seed: Int?
  var slack: Duration

  /// Whether tests in suites within the suite are explored, too: they are.
  public var isRecursive: Bool { true }

  /// Runs a test case in many orders; for the test library.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The case.
  ///   - function: Runs the case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The last one is the innermost, and says more.
    guard test.traits.last(where: { $0 is SchedulesTrait }).map(isMe) ?? true else {
      return try await function()
    }
    let location = test.sourceLocation
    let name = test.id.nameComponents
    let date = virtualTime(of: test)?.date
    let scope = scope(virtualTime(of: test))
    await withoutActuallyEscaping(function) { function in
      // Runs that were left because they never end hold the function for good.
      let holders = ClosureRetainBalance.countHolders(of: function)
      _ = await runSchedules(
        count, seed: seed, slack: slack,
        testID: test.id.moduleName + "." + name.joined(separator: "/"), in: scope,
        report: ScheduleReport(
          fail: { Issue.record(Comment(rawValue: $0), sourceLocation: location) },
          failWithError: { error, text in
            Issue.record(error, Comment(rawValue: text), sourceLocation: location)
          },
          replayForm: { "@Test(.schedule(\"\($0)\"))" }
        ),
        operation: { time in
          if let date { time.date = date }
          try await function()
        })
      holders.letGo(of: function)
    }
  }

  private func isMe(_ trait: any Trait) -> Bool {
    guard let trait = trait as? SchedulesTrait else { return true }
    return trait.count == count && trait.seed == seed && trait.slack == slack
  }

  private func virtualTime(of test: Test) -> VirtualTimeTrait? {
    test.traits.lazy.compactMap { $0 as? VirtualTimeTrait }.last
  }

  private func scope(_ trait: VirtualTimeTrait?) -> ScheduleScope {
    var scope = ScheduleScope()
    guard let trait else { return scope }
    scope.autoAdvance = trait.autoAdvance
    scope.leftoverSleeps = trait.leftoverSleeps
    scope.freezesDate = trait.freezesDate
    scope.runningLimit = trait.runningLimit
    return scope
  }
}

extension Trait where Self == SchedulesTrait {
  /// Runs each test in up to 1,000 orders of its jobs, for up to two seconds of real time, in virtual time.
  public static var schedules: Self { schedules() }

  /// Runs each test in up to 1,000 orders of its jobs, for up to two seconds of real time, in virtual time.
  ///
  /// - Parameters:
  ///   - seed: With what the search begins to throw dice; by default it follows from the test's name.
  ///   - slack: How late a sleep may wake.
  public static func schedules(seed: Int? = nil, slack: Duration = .zero) -> Self {
    SchedulesTrait(count: .standard, seed: seed, slack: slack)
  }

  /// Runs each test in up to `count` orders of its jobs, in virtual time.
  ///
  /// - Parameters:
  ///   - count: How many schedules are tried at most, 1 or more.
  ///   - seed: With what the search begins to throw dice; by default it follows from the test's name.
  ///   - slack: How late a sleep may wake.
  public static func schedules(_ count: Int, seed: Int? = nil, slack: Duration = .zero) -> Self {
    SchedulesTrait(count: .upTo(count), seed: seed, slack: slack)
  }

  /// Runs each test in as many orders of its jobs as `count` says, in virtual time.
  ///
  /// - Parameters:
  ///   - count: Which schedules are tried.
  ///   - seed: With what the search begins to throw dice; by default it follows from the test's name.
  ///   - slack: How late a sleep may wake.
  public static func schedules(
    _ count: ScheduleCount, seed: Int? = nil, slack: Duration = .zero
  ) -> Self {
    SchedulesTrait(count: count, seed: seed, slack: slack)
  }

  /// Runs each test in one order, the one that a failure has printed, with breakpoints and issues as usual.
  ///
  /// - Parameters:
  ///   - token: What the failure has printed.
  ///   - slack: How late a sleep may wake; as in the search.
  public static func schedule(_ token: String, slack: Duration = .zero) -> Self {
    SchedulesTrait(count: .schedule(token), seed: nil, slack: slack)
  }
}
