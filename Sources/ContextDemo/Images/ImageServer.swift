import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Asks a server about images.
struct ImageServer: Sendable {
  let url: URL
  let http: HTTPClient

  /// The details of an image.
  ///
  /// - Throws: ``HTTPError`` if the server does not have it, `DecodingError` or
  ///   ``ImageError/wrongImage(_:)`` if it answers nonsense, and whatever the connection throws.
  func details(of id: String) async throws -> ImageDetails {
    let request = URLRequest(url: url.appendingPathComponent("images/\(id)"))
    let details = try JSONDecoder().decode(ImageDetails.self, from: await http.data(for: request))
    guard details.id == id else { throw ImageError.wrongImage(details.id) }
    return details
  }
}

extension HTTPClient {
  /// A client whose answers arrive later by `delay`, on `clock`.
  func delayed(by delay: Duration, on clock: any Clock<Duration>) -> HTTPClient {
    HTTPClient { request in
      let answer = try await send(request)
      try await clock.sleep(for: delay)
      return answer
    }
  }
}
