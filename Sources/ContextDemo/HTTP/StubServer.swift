import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server that exists only inside its `URLSession`: it serves whatever that session asks for, and
/// records it.
final class StubServer: Sendable {
  /// What a server is asked.
  struct Request: Hashable, Sendable {
    let method: String
    let path: String
    let query: String?
    let body: Data
  }

  /// What it answers.
  struct Response: Sendable {
    var status = 200
    var body = Data()
  }

  /// Where the server is. Every server has a host of its own.
  let url: URL
  /// What it has been asked, in order; for one reader.
  let requests: AsyncStream<Request>
  /// A session for which the server exists.
  private let session: URLSession

  private let continuation: AsyncStream<Request>.Continuation

  private static let newest = Atomic<Int>(0)

  /// Makes a server.
  ///
  /// - Parameter respond: Answers a request; what it throws is a failure of the connection.
  init(respond: @escaping @Sendable (Request) throws -> Response = { _ in Response() }) {
    let number = Self.newest.add(1, ordering: .relaxed).newValue
    url = URL(string: "http://server-\(number).stub")!
    (requests, continuation) = AsyncStream.makeStream()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [StubProtocol.self]
    session = URLSession(configuration: configuration)
    // The session's threads must not keep the server itself: it must not end on one of them.
    StubProtocol.serve(url) { [continuation] request in
      continuation.yield(request)
      return try respond(request)
    }
  }

  /// A client for which the server exists, and which keeps it alive.
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
