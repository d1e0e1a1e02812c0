import Clocks
import Testing

@testable import ContextDemo

@Suite struct ContactLoaderTests {
  private static let ada = Contact(name: "Ada", number: "1815")
  private static let barbara = Contact(name: "Barbara", number: "1939")
  private static let grace = Contact(name: "Grace", number: "1906")

  private struct Unavailable: Error {}

  // MARK: - The loader

  /// Synchronous: the test does not wait.
  @Test func loadsEverythingBeforeTheCallReturns() throws {
    let loader = ContactLoader(
      sources: [{ [Self.grace, Self.ada] }, { [] }, { [Self.barbara, Self.grace] }],
      schedulers: SynchronousSchedulers())
    let results = results(of: loader)
    try #require(results.count == 1)
    #expect(try results[0].get() == [Self.ada, Self.barbara, Self.grace])
  }

  @Test func returnsTheFirstError() throws {
    let loader = ContactLoader(
      sources: [{ [Self.ada] }, { throw Unavailable() }, { throw CancellationError() }],
      schedulers: SynchronousSchedulers())
    let results = results(of: loader)
    try #require(results.count == 1)
    #expect(throws: Unavailable.self) { try results[0].get() }
  }

  @Test func returnsNothingWithoutSources() throws {
    let loader = ContactLoader(sources: [], schedulers: SynchronousSchedulers())
    let results = results(of: loader)
    try #require(results.count == 1)
    #expect(try results[0].get() == [])
  }

  @Test(arguments: WorkSchedulerContractTests.factories)
  func returnsTheSameWithEveryFactory(_ schedulers: any WorkSchedulerFactory) async throws {
    let loader = ContactLoader(
      sources: (0..<20).map { (number: Int) in
        { @Sendable in [Contact(name: "\(number % 10)", number: ""), Self.ada] }
      }, schedulers: schedulers)
    let result = await withCheckedContinuation { continuation in
      loader.load { continuation.resume(returning: $0) }
    }
    #expect(try result.get().map(\.name) == (0..<10).map(String.init) + ["Ada"])
  }

  /// Returns the results with which a loader on synchronous schedulers has called back.
  private func results(of loader: ContactLoader) -> [Result<[Contact], any Error>] {
    /// Used on one thread only.
    final class Results: @unchecked Sendable { var all: [Result<[Contact], any Error>] = [] }
    let results = Results()
    loader.load { results.all.append($0) }
    return results.all
  }

  // MARK: - The book

  @Test func bookLoadsAllSourcesConcurrently() async throws {
    let clock = TestClock()
    let book = ContactBook(
      sources: [(300, Self.grace), (100, Self.ada), (200, Self.ada)].map { delay, contact in
        { @Sendable in
          try await clock.sleep(for: .milliseconds(delay))
          return [contact]
        }
      })
    let contacts = Task { try await book.contacts() }
    await clock.run()
    #expect(try await contacts.value == [Self.ada, Self.grace])
    #expect(clock.now.offset == .milliseconds(300))
  }

  @Test func failureOfASourceCancelsTheOthers() async throws {
    let clock = TestClock()
    let book = ContactBook(sources: [
      {
        try await clock.sleep(for: .milliseconds(300))
        return [Self.ada]
      },
      {
        try await clock.sleep(for: .milliseconds(100))
        throw Unavailable()
      },
    ])
    let contacts = Task { try await book.contacts() }
    await clock.run()
    await #expect(throws: Unavailable.self) { try await contacts.value }
    #expect(clock.now.offset == .milliseconds(100))
  }

  @Test func scenario() async throws {
    let (events, outcome) = try await ScenarioRunTests.run(SchedulersScenario.self)
    #expect(outcome.error == nil)
    #expect(
      events == [
        .init(0, "caller", "asks a loader with dispatch schedulers"),
        .init(0, "loader", "has Ada, Barbara, Grace"),
        .init(0, "caller", "asks a loader with synchronous schedulers"),
        .init(0, "loader", "has Ada, Barbara, Grace"),
        .init(0, "caller", "asks a book, whose sources take 0.1 s and 0.2 s"),
        .init(100, "source 1", "answers"),
        .init(200, "source 2", "answers"),
        .init(200, "book", "has Ada, Barbara, Grace"),
      ])
  }
}
