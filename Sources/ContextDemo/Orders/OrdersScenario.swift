import Clocks

/// A cache that downloads twice if two ask in the wrong order, and its corrected twin.
struct OrdersScenario: Scenario {
  static let name = "orders"
  static let summary = "a cache that downloads twice: found, explained, replayed and corrected"
  static let clocks = [ClockChoice.test]

  init(_ arguments: Arguments) throws(UsageError) {}

  /// What a download too many is.
  struct TooManyDownloads: Error, CustomStringConvertible {
    let count: Int
    var description: String { "\(count) downloads of one picture" }
  }

  func play(on stage: Stage) async throws {
    let hasty: @Sendable (VirtualTime) async throws -> Void = { time in
      try await Self.askTwice(HastyPictureCache(clock: time.clock), on: time.clock)
    }
    stage.log("search", "a cache that stores when it has downloaded")
    let found = Found()
    await Self.run(.upTo(1_000), found, hasty)
    for line in found.lines { stage.log("search", line) }
    guard let token = found.token else { throw NotFound() }

    let again = Found()
    await Self.run(.schedule(token), again, hasty)
    for line in again.lines.prefix(1) { stage.log("replay", line) }

    stage.log("search", "a cache that knows what is under way")
    let summary = await Self.run(.upTo(2_000), Found()) { time in
      try await Self.askTwice(CarefulPictureCache(clock: time.clock), on: time.clock)
    }
    if let summary { stage.log("search", "\(summary)") }
  }

  struct NotFound: Error, CustomStringConvertible {
    var description: String { "no order was found in which the cache downloads twice" }
  }

  /// The list asks at once, the page a second later: at the very instant at which the download is over.
  private static func askTwice(
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
  private static func run(
    _ count: ScheduleCount, _ found: Found,
    _ operation: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async -> ScheduleSummary? {
    await runSchedules(
      count, seed: nil, slack: .zero, testID: "orders", in: ScheduleScope(),
      report: ScheduleReport(
        fail: { found.add($0) },
        failWithError: { error, explanation in found.add("\(error)\n\(explanation)") },
        replayForm: {
          found.token = $0
          return $0
        }),
      operation: operation)
  }

  /// What a search has reported, one thing after the other.
  private final class Found: @unchecked Sendable {
    nonisolated(unsafe) private(set) var lines: [String] = []
    nonisolated(unsafe) var token: String?

    func add(_ text: String) { lines += text.split(separator: "\n").map(String.init) }
  }
}
