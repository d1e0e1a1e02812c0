import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server without a network: answers and records the requests of its `URLSession`.
final class StubServer: Sendable {
  struct Request: Hashable, Sendable {
    let method: String
    let path: String
    let query: String?
    let body: Data
  }

  struct Response: Sendable {
    var status = 200
    var body = Data()
  }

  /// The base URL. Each server has a unique host.
  let url: URL
  /// All requests in order, for one reader.
  let requests: AsyncStream<Request>
  /// The session that can reach the server.
  private let session: URLSession

  private let continuation: AsyncStream<Request>.Continuation

  private static let newest = Atomic<Int>(0)

  /// Creates a server.
  ///
  /// - Parameter respond: Answers a request. An error that it throws becomes an error of the
  ///   connection.
  init(respond: @escaping @Sendable (Request) throws -> Response = { _ in Response() }) {
    let number = Self.newest.add(1, ordering: .relaxed).newValue
    url = URL(string: "http://server-\(number).stub")!
    (requests, continuation) = AsyncStream.makeStream()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [StubProtocol.self]
    session = URLSession(configuration: configuration)
    // The closure does not capture `self`: otherwise a thread of the session could release the last
    // reference.
    StubProtocol.serve(url) { [continuation] request in
      continuation.yield(request)
      return try respond(request)
    }
  }

  /// A client that can reach the server and retains it.
  var http: HTTPClient {
    HTTPClient { [self] request in
      defer { withExtendedLifetime(self) {} }
      return try await HTTPClient.session(session).send(request)
    }
  }

  deinit {
    session.finishTasksAndInvalidate()
    continuation.finish()
    StubProtocol.serve(url, with: nil)
  }
}
