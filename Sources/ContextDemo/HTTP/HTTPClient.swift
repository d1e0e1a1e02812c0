import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests; how, is for its owner to say.
struct HTTPClient: Sendable {
  /// Sends a request and returns the answer.
  var send: @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)

  /// A client that goes through `session`.
  ///
  /// When the caller is cancelled it throws at once; what becomes of the request is not waited for.
  static func session(_ session: URLSession) -> HTTPClient {
    HTTPClient { request in
      // The session works on threads of its own.
      try await outside { try await session.answer(to: request) }
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

extension URLSession {
  /// The answer to a request.
  ///
  /// The session's own async function would do, were it not for cancellation: on Linux, as of Swift
  /// 6.3, cancelling a request that a `URLProtocol` serves can hang or crash in Foundation.
  fileprivate func answer(to request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    let (answers, continuation) = AsyncThrowingStream<(Data, HTTPURLResponse), any Error>
      .makeStream()
    let task = dataTask(with: request) { data, response, error in
      if let data, let response = response as? HTTPURLResponse {
        continuation.yield((data, response))
      } else {
        continuation.finish(throwing: error ?? URLError(.badServerResponse))
      }
    }
    #if canImport(Darwin)
      continuation.onTermination = { _ in task.cancel() }
    #endif
    task.resume()
    for try await answer in answers { return answer }
    // The stream has ended without an answer or an error: the caller is cancelled.
    throw CancellationError()
  }
}
