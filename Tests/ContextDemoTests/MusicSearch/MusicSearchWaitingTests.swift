import Clocks
import ClocksTestKit
import Foundation
import Testing

@testable import ContextDemo

/// Tests with expectations and with polling assertions, and a server that answers after 0.1 s.
@Suite(.virtualTime) struct MusicSearchWaitingTests {
  private let time = VirtualTime.current!

  private static let good = Data(#"{"results": [{"title": "Sun", "artist": "G. H."}]}"#.utf8)

  private func service(_ response: StubServer.Response) -> MusicService {
    let server = StubServer { _ in response }
    return MusicService(
      server: server.url, http: server.http.delayed(by: .milliseconds(100), on: time.clock))
  }

  // MARK: - Expectations

  @Test func fulfilledExpectation() async {
    let found = TimedExpectation("finds the sun", expectedCount: 1)
    service(.init(body: Self.good)).search("sun") {
      if case .success([Track(title: "Sun", artist: "G. H.")]) = $0 { found.fulfill() }
    }
    await found.wait(within: .seconds(60))
  }

  @Test(
    arguments: [
      StubServer.Response(status: 500), StubServer.Response(body: Data("<html>".utf8)),
    ])
  func invertedExpectation(_ response: StubServer.Response) async {
    let found = TimedExpectation("finds something", expectedCount: 0)
    let refused = TimedExpectation("is refused")
    service(response).search("sun") {
      if case .success = $0 { found.fulfill() } else { refused.fulfill() }
    }
    #expect(await refused.wait(within: .seconds(60)) == .milliseconds(100))
    await found.wait(within: .seconds(60))
  }

  @Test func countedConfirmation() async {
    let service = service(.init(body: Self.good))
    await confirmation("each search answers once", expectedCount: 3, within: .seconds(60)) {
      answer in
      for term in ["a", "b", "c"] { service.search(term) { _ in answer() } }
    }
  }

  @Test func notification() async {
    let center = NotificationCenter()
    let posted = TimedExpectation("posts what it has found")
    let observer = center.addObserver(forName: .init("found"), object: nil, queue: nil) { _ in
      posted.fulfill()
    }
    defer { center.removeObserver(observer) }
    service(.init(body: Self.good)).search("sun") { _ in
      center.post(name: .init("found"), object: nil)
    }
    #expect(await posted.wait(within: .seconds(60)) == .milliseconds(100))
  }

  // MARK: - Polling assertions

  @MainActor @Test func eventuallyAndNever() async {
    var titles: [String] = []
    service(.init(body: Self.good)).search("sun") {
      titles = (try? $0.get().map(\.title)) ?? ["nothing"]
    }
    #expect(await time.never(within: .milliseconds(99)) { !titles.isEmpty })
    #expect(await time.eventually(within: .seconds(5)) { titles == ["Sun"] } == .milliseconds(1))
  }
}
