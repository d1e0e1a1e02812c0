import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Posts lines to a chat server.
struct ChatClient: Sendable {
  /// What is posted, as JSON.
  struct Post: Codable, Hashable, Sendable {
    let line: String
  }

  let server: URL
  let http: HTTPClient

  /// Posts one line; returns when the server has it.
  ///
  /// - Throws: ``HTTPError`` if the server does not take it, and whatever the connection throws.
  func say(_ line: String) async throws {
    var request = URLRequest(url: server.appendingPathComponent("chat"))
    request.httpMethod = "POST"
    request.httpBody = try JSONEncoder().encode(Post(line: line))
    _ = try await http.data(for: request)
  }
}

extension StubServer.Request {
  /// The line that is posted with the request, if it is one to a chat.
  var line: String? {
    guard method == "POST", path == "/chat" else { return nil }
    return try? JSONDecoder().decode(ChatClient.Post.self, from: body).line
  }
}
