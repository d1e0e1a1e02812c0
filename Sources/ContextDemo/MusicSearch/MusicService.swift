import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Track: Codable, Hashable, Sendable {
  let title: String
  let artist: String
}

/// Searches a server for music.
struct MusicService: Sendable {
  let server: URL
  let http: HTTPClient

  /// Returns the tracks that match a term, in the order of the server.
  ///
  /// - Throws: ``HTTPError`` if the server rejects the request, `DecodingError` if its answer is
  ///   invalid, and any error of the connection.
  func search(_ term: String) async throws -> [Track] {
    try parse(await http.data(for: request(for: term)))
  }

  /// Searches and calls `completion` with the result on the caller's actor, or on `isolation`.
  ///
  /// Cancelling the returned task ends the search; `completion` then receives an error.
  @discardableResult
  func search(
    _ term: String, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Result<[Track], any Error>) -> Void
  ) -> Task<Void, Never> {
    Task {
      _ = isolation
      do {
        completion(.success(try await search(term)))
      } catch {
        completion(.failure(error))
      }
    }
  }

  // MARK: - Request and answer

  func request(for term: String) -> URLRequest {
    var components = URLComponents(
      url: server.appendingPathComponent("search"), resolvingAgainstBaseURL: false)!
    components.queryItems = [
      URLQueryItem(name: "media", value: "music"), URLQueryItem(name: "term", value: term),
    ]
    return URLRequest(url: components.url!)
  }

  func parse(_ answer: Data) throws -> [Track] {
    try JSONDecoder().decode(Answer.self, from: answer).results
  }

  struct Answer: Codable, Sendable {
    let results: [Track]
  }
}
