import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests; how, is for its owner to say.
struct HTTPClient: Sendable {
  /// Sends a request and returns the answer.
  var send: @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)

  /// A client that goes through `session`.
  static func session(_ session: URLSession) -> HTTPClient {
    HTTPClient { request in
      // The session works on threads of its own.
      try await outside {
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else {
          throw URLError(.badServerResponse)
        }
        return (data, response)
      }
    }
  }

  /// Sends a request and returns what comes back with it.
  ///
  /// - Throws: ``HTTPError`` if the server does not answer with 200, and whatever ``send`` throws.
  func data(for request: URLRequest) async throws -> Data {
    let (data, response) = try await send(request)
    guard response.statusCode == 200 else { throw HTTPError(status: response.statusCode) }
    return data
  }
}

/// Says that a server has answered, but not as one would wish.
struct HTTPError: Error, Hashable, CustomStringConvertible {
  let status: Int

  var description: String { "the server answered with status \(status)" }
}
