import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests the details of images from a server.
struct ImageServer: Sendable {
  let url: URL
  let http: HTTPClient

  /// Returns the details of an image.
  ///
  /// - Throws: ``HTTPError`` if the server rejects the request, `DecodingError` or
  ///   ``ImageError/wrongImage(_:)`` if its answer is invalid, and any error of the connection.
  func details(of id: String) async throws -> ImageDetails {
    let request = URLRequest(url: url.appendingPathComponent("images/\(id)"))
    let details = try JSONDecoder().decode(ImageDetails.self, from: await http.data(for: request))
    guard details.id == id else { throw ImageError.wrongImage(details.id) }
    return details
  }
}

extension HTTPClient {
  /// Returns a client that delays each answer by `delay` on `clock`.
  func delayed(by delay: Duration, on clock: any Clock<Duration>) -> HTTPClient {
    HTTPClient { request in
      let answer = try await send(request)
      try await clock.sleep(for: delay)
      return answer
    }
  }
}
