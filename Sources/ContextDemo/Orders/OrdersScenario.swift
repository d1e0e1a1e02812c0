import Clocks

/// Searches for a schedule in which a cache downloads a picture twice, and repeats the search with a corrected cache.
struct OrdersScenario: Scenario {
  static let name = "orders"
  static let summary = "a cache that downloads twice: found, explained, replayed and corrected"
  static let clocks = [ClockChoice.test]

  init(_ arguments: Arguments) throws(UsageError) {}

  struct TooManyDownloads: Error, CustomStringConvertible {
    let count: Int
    var description: String { "\(count) downloads of one picture" }
  }

  struct NotFound: Error, CustomStringConvertible {
    var description: String { "no schedule was found in which the cache downloads twice" }
  }

  func run(in demo: DemoEnvironment) async throws {
    let hasty: @Sendable (VirtualTime) async throws -> Void = { time in
      try await Self.requestTwice(HastyPictureCache(clock: time.clock), on: time.clock)
    }
    demo.log("search", "a cache that stores a picture after its download")
    let found = Findings()
    try await Self.search(.upTo(1_000), found, hasty)
    for line in found.lines { demo.log("search", line) }
    guard let token = found.token else { throw NotFound() }

    let replayed = Findings()
    try await Self.search(.schedule(token), replayed, hasty)
    for line in replayed.lines.prefix(1) { demo.log("replay", line) }

    demo.log("search", "a cache that also stores running downloads")
    let summary = try await Self.search(.upTo(2_000), Findings()) { time in
      try await Self.requestTwice(CarefulPictureCache(clock: time.clock), on: time.clock)
    }
    if let summary { demo.log("search", "\(summary)") }
  }

  /// Requests a picture immediately, and again at the instant at which the download ends.
  private static func requestTwice(
    _ cache: any PictureCache, on clock: any Clock<Duration>
  ) async throws {
    let list = Task(name: "list") { try await cache.image("cats") }
    let page = Task(name: "page") {
      for _ in 1...2 { try await clock.sleep(for: .milliseconds(500)) }
      return try await cache.image("cats")
    }
    _ = try await (list.value, page.value)
    let count = await cache.downloads
    if count > 1 { throw TooManyDownloads(count: count) }
  }

  @discardableResult
  private static func search(
    _ count: ScheduleCount, _ findings: Findings,
    _ operation: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async throws -> ScheduleSummary? {
    try await runSchedules(
      count, seed: nil, slack: .zero, testID: "orders", options: .standard,
      report: ScheduleReport(
        fail: { findings.add($0) },
        failWithError: { error, explanation in findings.add("\(error)\n\(explanation)") },
        replayForm: {
          findings.token = $0
          return $0
        }),
      operation: operation)
  }

  /// The reports of a search. The search makes its reports one after another.
  private final class Findings: @unchecked Sendable {
    private(set) var lines: [String] = []
    var token: String?

    func add(_ text: String) { lines += text.split(separator: "\n").map(String.init) }
  }
}

/// Downloads pictures and keeps them.
protocol PictureCache: Actor {
  var downloads: Int { get }
  func image(_ name: String) async throws -> String
}

/// Stores a picture after its download. A request during the download starts another download.
actor HastyPictureCache: PictureCache {
  private var pictures: [String: String] = [:]
  private(set) var downloads = 0
  private let clock: any Clock<Duration>

  init(clock: any Clock<Duration>) { self.clock = clock }

  func image(_ name: String) async throws -> String {
    if let picture = pictures[name] { return picture }
    downloads += 1
    try await clock.sleep(for: .seconds(1))
    pictures[name] = "a picture of \(name)"
    return "a picture of \(name)"
  }
}

/// Stores the task of each download, so that a second request awaits the first.
actor CarefulPictureCache: PictureCache {
  private var pictures: [String: Task<String, any Error>] = [:]
  private(set) var downloads = 0
  private let clock: any Clock<Duration>

  init(clock: any Clock<Duration>) { self.clock = clock }

  func image(_ name: String) async throws -> String {
    if let picture = pictures[name] { return try await picture.value }
    downloads += 1
    let task = Task {
      try await clock.sleep(for: .seconds(1))
      return "a picture of \(name)"
    }
    pictures[name] = task
    return try await task.value
  }
}
