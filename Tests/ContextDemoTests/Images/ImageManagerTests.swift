import Clocks
import ClocksTestKit
import Foundation
import Testing

@testable import ContextDemo

/// Tests the top layer with a server that takes 100 ms to answer.
@MainActor @Suite(.virtualTime) struct ImageManagerTests {
  let folder = TemporaryFolder()
  let store: ImageStore
  let stub: StubServer

  init() throws {
    store = try ImageStore(folder: folder.url)
    stub = StubServer { request in
      let id = String(request.path.dropFirst("/images/".count))
      guard id != "missing" else { return .init(status: 404) }
      return .init(body: try JSONEncoder().encode(Self.details(id)))
    }
  }

  private nonisolated static func details(_ id: String) -> ImageDetails {
    ImageDetails(id: id, title: "Image \(id)", width: 640, height: 480)
  }

  /// Returns a manager whose server uses the clock of the test.
  private func manager() throws -> ImageManager {
    let time = try #require(VirtualTime.current)
    let http = stub.http.delayed(by: .milliseconds(100), on: time.clock)
    return ImageManager(store: store, server: ImageServer(url: stub.url, http: http))
  }

  private func now() -> Duration? { VirtualTime.current?.now.offset }

  @Test func returnsTheIDFirstAndTheDetailsLater() async throws {
    let manager = try manager()
    let (updates, continuation) = AsyncStream<Duration?>.makeStream()
    let image = try manager.image("123") { result in
      #expect(throws: Never.self) { try result.get() }
      continuation.yield(now())
    }
    #expect(image.id == "123")
    #expect(image.details == nil)
    #expect(now() == .zero)

    #expect(await updates.first(1) == [.milliseconds(100)])
    #expect(image.details == Self.details("123"))
    #expect(try store.details(of: "123") == Self.details("123"))
  }

  @Test func returnsStoredDetailsImmediately() async throws {
    try store.save(Self.details("123"))
    let manager = try manager()
    let image = try manager.image("123") { _ in Issue.record("the details are on disk") }
    #expect(image.details == Self.details("123"))
    try await Task.sleep(for: .seconds(10))
  }

  @Test func concurrentCallsShareARequest() async throws {
    let manager = try manager()
    let (updates, continuation) = AsyncStream<String>.makeStream()
    let first = try manager.image("123") { _ in continuation.yield("first \(now()!)") }
    try await Task.sleep(for: .milliseconds(50))
    let second = try manager.image("123") { _ in continuation.yield("second \(now()!)") }
    #expect(first === second)
    #expect(await updates.first(2) == ["first 0.1 seconds", "second 0.1 seconds"])
    // The second request is for another image, so the first image was requested once.
    _ = try manager.image("456") { _ in continuation.yield("third") }
    #expect(await updates.first(1) == ["third"])
    #expect(await stub.requests.first(2).map(\.path) == ["/images/123", "/images/456"])
  }

  @Test func failureIsReportedAndNotStored() async throws {
    let manager = try manager()
    let (updates, continuation) = AsyncStream<Duration?>.makeStream()
    let image = try manager.image("missing") { result in
      #expect(throws: HTTPError(status: 404)) { try result.get() }
      continuation.yield(now())
    }
    #expect(await updates.first(1) == [.milliseconds(100)])
    #expect(image.details == nil)
    #expect(try store.files() == [])
  }

  @Test func releasedManagerDoesNotCallHandlers() async throws {
    var manager: ImageManager? = try manager()
    let image = try manager?.image("123") { _ in Issue.record("the manager is released") }
    try await Task.sleep(for: .milliseconds(50))
    manager = nil
    try await Task.sleep(for: .seconds(10))
    #expect(manager == nil)
    #expect(image?.details == nil)
  }

  @Test func scenario() async throws {
    let (events, outcome) = try await ScenarioRunTests.run(ImagesScenario.self)
    #expect(outcome.error == nil)
    #expect(
      events == [
        .init(0, "caller", "gets image 123"),
        .init(100, "handler", "image 123, 'Sunrise', 640 x 480"),
        .init(100, "caller", "gets image 123, 'Sunrise', 640 x 480"),
      ])
  }
}
