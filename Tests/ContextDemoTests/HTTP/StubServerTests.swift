import Foundation
import Testing

@testable import ContextDemo

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct StubServerTests {
  @Test func recordsRequests() async throws {
    let server = StubServer { _ in .init(status: 201, body: Data("made".utf8)) }
    var request = URLRequest(url: server.url.appendingPathComponent("a/b"))
    request.url = URL(string: request.url!.absoluteString + "?c=d")
    request.httpMethod = "PUT"
    request.httpBody = Data(repeating: 7, count: 10_000)

    let (data, response) = try await server.http.send(request)

    #expect(response.statusCode == 201)
    #expect(data == Data("made".utf8))
    var requests = server.requests.makeAsyncIterator()
    #expect(
      await requests.next()
        == StubServer.Request(
          method: "PUT", path: "/a/b", query: "c=d", body: Data(repeating: 7, count: 10_000)))
  }

  @Test func thrownErrorFailsTheConnection() async throws {
    let server = StubServer { _ in throw URLError(.networkConnectionLost) }
    let client = server.http
    await #expect { try await client.data(for: URLRequest(url: server.url)) } throws: {
      ($0 as? URLError)?.code == .networkConnectionLost
    }
  }

  @Test func otherStatusThan200IsAnError() async throws {
    let server = StubServer { _ in .init(status: 404) }
    let client = server.http
    await #expect(throws: HTTPError(status: 404)) {
      try await client.data(for: URLRequest(url: server.url))
    }
  }

  @Test func serversAreIndependent() async throws {
    let servers = (0..<5).map { number in
      StubServer { _ in .init(body: Data("\(number)".utf8)) }
    }
    try await withThrowingTaskGroup { group in
      for (number, server) in servers.enumerated() {
        group.addTask {
          let client = server.http
          let data = try await client.data(for: URLRequest(url: server.url))
          #expect(data == Data("\(number)".utf8))
        }
      }
      try await group.waitForAll()
    }
  }
}
