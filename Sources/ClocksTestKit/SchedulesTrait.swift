import Clocks
import ClocksSupport
public import Testing

/// Runs tests in many orders of their jobs, in virtual time, and explains the first failure.
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
/// Each test case is explored separately, as by `withSchedules`, which documents what a search can find. Each
/// run has a new instance of the suite. The trait implies virtual time. If the test has a
/// ``VirtualTimeTrait`` as well, the options of that trait apply to each run, except `jumpsAfter:` and `stuckAfter:`.
/// On a suite, the trait applies to each of its tests.
///
/// Issues are withheld during the search. Then the shortest order that fails is run once more, and its issues
/// are recorded. So the test fails once, at the line of the failed expectation, with the explanation. As in
/// every test, issues of a detached task do not count for the test.
public struct SchedulesTrait: TestTrait, SuiteTrait, TestScoping {
  var count: ScheduleCount
  var seed: Int?
  var slack: Duration
  var bounds = ScheduleBounds(faults: 0, stalls: 0, upTo: .zero, explores: [])

  /// The test around the current task that is explored already, by an equal trait.
  @TaskLocal private static var explored: Test.ID?

  /// Whether the trait applies to the tests of inner suites; always `true`.
  public var isRecursive: Bool { true }

  /// Runs a test case in many orders; called by the test library.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: The test case.
  ///   - function: Runs the test case.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // Only the last, innermost trait takes effect. If a suite around the test has an equal trait, the suite's trait
    // runs the search: equal traits cannot be told apart.
    guard test.id != Self.explored,
      test.traits.last(where: { $0 is SchedulesTrait }).map(isMe) ?? true
    else { return try await function() }
    try await Self.$explored.withValue(test.id) {
      try await explore(test, testCase, function)
    }
  }

  private func explore(
    _ test: Test, _ testCase: Test.Case?, _ function: @Sendable () async throws -> Void
  ) async throws {
    let location = test.sourceLocation
    let virtualTime = test.traits.lazy.compactMap { $0 as? VirtualTimeTrait }.last
    var options = virtualTime?.options ?? .standard
    options.jumpsAfter = nil
    options.stuckAfter = ScopeOptions.standard.stuckAfter
    try await withoutActuallyEscaping(function) { function in
      // The program traps if the function is still retained at the end, and an abandoned run retains it permanently.
      // So what the search has retained is released.
      let holders = ClosureRetainBalance.countHolders(of: function)
      defer { holders.releaseReferences(to: function) }
      _ = try await runSchedules(
        count, seed: seed, slack: slack, bounds: bounds,
        testID: test.id.fullName, testCase: testCase.map(TimelineAttachments.arguments) ?? "",
        options: options, origin: CallSite(location),
        report: ScheduleReport(
          fail: { Issue.record(Comment(rawValue: $0), sourceLocation: location) },
          failWithError: { error, text in
            Issue.record(error, Comment(rawValue: text), sourceLocation: location)
          },
          replayForm: { [slack] in
            "@Test(.schedule(\"\($0)\"\(replayArguments(slack: slack))))"
          }
        ),
        operation: { time in
          if let date = virtualTime?.date { time.date = date }
          try await function()
        })
    }
  }

  private func isMe(_ trait: any Trait) -> Bool {
    guard let trait = trait as? SchedulesTrait else { return true }
    return trait.count == count && trait.seed == seed && trait.slack == slack
      && trait.bounds == bounds
  }
}

extension Trait where Self == SchedulesTrait {
  /// Runs each test in virtual time, in up to 1,000 orders of its jobs, for up to two seconds of real time.
  public static var schedules: Self { schedules() }

  /// Runs each test in virtual time, in up to 1,000 orders of its jobs, for up to two seconds of real time.
  ///
  /// A negative argument is a failure of the test, and so are stalls without `upTo`, or the reverse; then the test is
  /// not run.
  ///
  /// - Parameters:
  ///   - seed: The seed of random choices; by default it follows from the name of the test.
  ///   - slack: The maximum delay with which a sleep wakes.
  ///   - faults: The maximum number of faults in a schedule; see `VirtualTime.fault(_:)`.
  ///   - stalls: The maximum number of stalls in a schedule: moves of time although a job is ready.
  ///   - upTo: The maximum length of a stall.
  ///   - explores: What else the search decides, such as random numbers.
  public static func schedules(
    seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
    stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = []
  ) -> Self {
    schedules(
      .standard, seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
      explores: explores)
  }

  /// Runs each test in up to `count` orders of its jobs, in virtual time.
  ///
  /// `count` is 1 or more. All else is like ``schedules(seed:slack:faults:stalls:upTo:explores:)``.
  public static func schedules(
    _ count: Int, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
    stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = []
  ) -> Self {
    schedules(
      .upTo(count), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
      explores: explores)
  }

  /// Runs each test in as many orders of its jobs as fit into `duration` of real time, in virtual time.
  ///
  /// The search ends earlier if it has tried all orders. It also ends if the last half of its schedules, and
  /// at least the last 1,000, contained no new happens-before class.
  ///
  /// `duration` is the real time for each test case, more than zero. All else is like
  /// ``schedules(seed:slack:faults:stalls:upTo:explores:)``.
  public static func schedules(
    for duration: Duration, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
    stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = []
  ) -> Self {
    schedules(
      .lasting(duration), seed: seed, slack: slack, faults: faults, stalls: stalls, upTo: upTo,
      explores: explores)
  }

  /// Runs each test in the given orders of its jobs, in virtual time. All else is like
  /// ``schedules(seed:slack:faults:stalls:upTo:explores:)``.
  public static func schedules(
    _ count: ScheduleCount, seed: Int? = nil, slack: Duration = .zero, faults: Int = 0,
    stalls: Int = 0, upTo: Duration = .zero, explores: ExploredSources = []
  ) -> Self {
    SchedulesTrait(
      count: count, seed: seed, slack: slack,
      bounds: ScheduleBounds(faults: faults, stalls: stalls, upTo: upTo, explores: explores))
  }

  /// Runs each test once, in the order of jobs that a token states. Breakpoints and issues work as usual.
  ///
  /// - Parameters:
  ///   - token: The token that a failure printed.
  ///   - slack: The maximum delay with which a sleep wakes. The replay line has the value that the search used.
  public static func schedule(_ token: String, slack: Duration = .zero) -> Self {
    SchedulesTrait(count: .schedule(token), seed: nil, slack: slack)
  }
}
