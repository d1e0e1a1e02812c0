import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Passes each request of a `URLSession` to the ``StubServer`` of its host, instead of the network.
final class StubProtocol: URLProtocol {
  typealias Server = @Sendable (StubServer.Request) throws -> StubServer.Response

  /// Guards `servers`.
  private static let lock = NSLock()
  /// All servers, by host.
  nonisolated(unsafe) private static var servers: [String: Server] = [:]

  /// Registers the server for the host of `url`, or removes it if `server` is `nil`.
  static func serve(_ url: URL, with server: Server?) {
    lock.withLock { servers[url.host ?? ""] = server }
  }

  private static func server(at url: URL?) -> Server? {
    lock.withLock { servers[url?.host ?? ""] }
  }

  override class func canInit(with request: URLRequest) -> Bool { server(at: request.url) != nil }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    do {
      guard let url = request.url, let server = Self.server(at: url) else {
        throw URLError(.cannotFindHost)
      }
      let answer = try server(StubServer.Request(request))
      let response = HTTPURLResponse(
        url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: nil)!
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: answer.body)
      client?.urlProtocolDidFinishLoading(self)
    } catch {
      client?.urlProtocol(self, didFailWithError: error)
    }
  }

  override func stopLoading() {}
}

extension StubServer.Request {
  init(_ request: URLRequest) {
    method = request.httpMethod ?? "GET"
    path = request.url?.path ?? ""
    query = request.url?.query
    body = request.httpBody ?? request.httpBodyStream.map(Data.init(reading:)) ?? Data()
  }
}

extension Data {
  /// Reads a stream to its end.
  fileprivate init(reading stream: InputStream) {
    self.init()
    stream.open()
    defer { stream.close() }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 {
      append(contentsOf: buffer[..<count])
    }
  }
}
