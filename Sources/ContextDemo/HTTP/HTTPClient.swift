import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with an injected function.
struct HTTPClient: Sendable {
  /// Sends a request and returns the response with its body.
  var send: @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)

  /// Returns a client that sends requests through `session`.
  ///
  /// When the caller is cancelled, the client throws immediately and does not wait for the request.
  static func session(_ session: URLSession) -> HTTPClient {
    HTTPClient { request in
      // Virtual time cannot see a socket.
      try await holdingVirtualTime { try await session.answer(to: request) }
    }
  }

  /// Sends a request and returns the body of the response.
  ///
  /// - Throws: ``HTTPError`` if the status is not 200, and any error of ``send``.
  func data(for request: URLRequest) async throws -> Data {
    let (data, response) = try await send(request)
    guard response.statusCode == 200 else { throw HTTPError(status: response.statusCode) }
    return data
  }
}

/// A response with an unexpected status.
struct HTTPError: Error, Hashable, CustomStringConvertible {
  let status: Int

  var description: String { "the server answered with status \(status)" }
}

extension URLSession {
  /// Returns the response to a request.
  ///
  /// Replaces `data(for:)`, whose cancellation is not safe on Linux. As of Swift 6.3, cancelling a request
  /// that a `URLProtocol` serves can hang or crash in Foundation.
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
    // A stream that ends without an answer and without an error means that the caller is cancelled.
    throw CancellationError()
  }
}
