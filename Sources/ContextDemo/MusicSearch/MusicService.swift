import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A piece of music.
struct Track: Codable, Hashable, Sendable {
  let title: String
  let artist: String
}

/// Searches a server for music.
struct MusicService: Sendable {
  let server: URL
  let http: HTTPClient

  /// The tracks that match a term, in the server's order.
  ///
  /// - Throws: ``HTTPError`` if the server refuses, `DecodingError` if it answers nonsense, and
  ///   whatever the connection throws.
  func search(_ term: String) async throws -> [Track] {
    try parse(await http.data(for: request(for: term)))
  }

  /// Searches, and calls `completion` with the result on the caller's actor, or the one given.
  ///
  /// Cancelling the task that is returned ends the search; then `completion` gets an error.
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

  // MARK: - Before and after the wait

  /// What the server is asked.
  func request(for term: String) -> URLRequest {
    var components = URLComponents(
      url: server.appendingPathComponent("search"), resolvingAgainstBaseURL: false)!
    components.queryItems = [
      URLQueryItem(name: "media", value: "music"), URLQueryItem(name: "term", value: term),
    ]
    return URLRequest(url: components.url!)
  }

  /// What the server's answer means.
  func parse(_ answer: Data) throws -> [Track] {
    try JSONDecoder().decode(Answer.self, from: answer).results
  }

  struct Answer: Codable, Sendable {
    let results: [Track]
  }
}
