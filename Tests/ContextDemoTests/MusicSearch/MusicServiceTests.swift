import Clocks
import ClocksTestKit
import Foundation
import Testing

@testable import ContextDemo

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests with a mock, tests of the synchronous parts, and a test through `URLSession`.
@Suite struct MusicServiceTests {
  private static let url = URL(string: "http://music.example")!
  private static let track = Track(title: "Here comes the sun", artist: "G. H.")

  // MARK: - Mocking

  @Test func sendsTheRequest() async throws {
    let (requests, continuation) = AsyncStream<URLRequest>.makeStream()
    let http = HTTPClient { request in
      continuation.yield(request)
      throw URLError(.notConnectedToInternet)
    }
    _ = try? await MusicService(server: Self.url, http: http).search("a b&c")
    #expect(
      await requests.first(1).map(\.url?.absoluteString)
        == ["http://music.example/search?media=music&term=a%20b%26c"])
  }

  @Test func returnsTheAnswer() async throws {
    let answer = try JSONEncoder().encode(MusicService.Answer(results: [Self.track]))
    let service = MusicService(server: Self.url, http: .answering(answer))
    #expect(try await service.search("sun") == [Self.track])
  }

  @Test func throwsTheErrorOfTheClient() async {
    let service = MusicService(
      server: Self.url, http: HTTPClient { _ in throw URLError(.notConnectedToInternet) })
    await #expect { try await service.search("sun") } throws: {
      ($0 as? URLError)?.code == .notConnectedToInternet
    }
  }

  // MARK: - Request and answer

  @Test func request() {
    let request = MusicService(server: Self.url, http: .unused).request(for: "sun")
    #expect(request.url?.absoluteString == "http://music.example/search?media=music&term=sun")
    #expect(request.httpMethod == "GET")
  }

  @Test func answer() throws {
    let service = MusicService(server: Self.url, http: .unused)
    let answer = Data(#"{"results": [{"title": "Here comes the sun", "artist": "G. H."}]}"#.utf8)
    #expect(try service.parse(answer) == [Self.track])
    #expect(throws: DecodingError.self) { try service.parse(Data("<html>".utf8)) }
  }

  // MARK: - URLSession

  @Test(
    .virtualTime,
    arguments: [
      (200, #"{"results": []}"#, "[]"), (500, "", "the server answered with status 500"),
      (200, "<html>", "DecodingError"),
    ])
  func throughURLSession(_ status: Int, _ body: String, _ expected: String) async throws {
    let time = try #require(VirtualTime.current)
    let server = StubServer { _ in .init(status: status, body: Data(body.utf8)) }
    let service = MusicService(
      server: server.url, http: server.http.delayed(by: .milliseconds(100), on: time.clock))
    let outcome: String
    do {
      outcome = "\(try await service.search("sun"))"
    } catch {
      outcome = error is DecodingError ? "DecodingError" : "\(error)"
    }
    #expect(outcome == expected)
    // A rejected answer is delayed, too.
    #expect(time.now.offset == .milliseconds(100))
  }
}

extension HTTPClient {
  /// Returns a client that always receives `data`.
  fileprivate static func answering(_ data: Data) -> HTTPClient {
    HTTPClient { request in
      (
        data,
        HTTPURLResponse(url: request.url!, statusCode: 200, httpVersion: nil, headerFields: nil)!
      )
    }
  }

  /// A client that must not be used.
  fileprivate static var unused: HTTPClient {
    HTTPClient { _ in
      Issue.record("unexpected request")
      throw URLError(.unknown)
    }
  }
}
