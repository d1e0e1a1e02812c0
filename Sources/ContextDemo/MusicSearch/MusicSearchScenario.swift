import Foundation
import TimeoutTask

/// Shows what the callback of a music search receives from different servers.
struct MusicSearchScenario: Scenario {
  static let name = "music-search"
  static let summary = "a search on a server: success, failure, an invalid answer, no answer"
  static let parameters: [Parameter] = [
    ("TERM", "the search term (default: sun)"),
    ("--response SECONDS", "the response time of the server (default: 0.1)"),
  ]

  private let term: String
  private let delay: Duration

  init(_ arguments: Arguments) throws(UsageError) {
    term = arguments.operands.first ?? "sun"
    delay = try arguments.seconds("--response") ?? .milliseconds(100)
  }

  func run(in demo: DemoEnvironment) async throws {
    let tracks = [
      Track(title: "Here comes the sun", artist: "G. H."), Track(title: "Moonlight", artist: "L."),
    ]
    let servers = [
      "a good server": StubServer { [term] request in
        let results = tracks.filter { $0.title.localizedCaseInsensitiveContains(term) }
        return .init(body: try JSONEncoder().encode(MusicService.Answer(results: results)))
      },
      "a failing server": StubServer { _ in .init(status: 500) },
      "a confused server": StubServer { _ in .init(body: Data("<html>".utf8)) },
    ]
    for (name, server) in servers.sorted(by: { $0.key < $1.key }) {
      let http = server.http.delayed(by: delay, on: demo.clock)
      let service = MusicService(server: server.url, http: http)
      demo.log("caller", "asks \(name) for '\(term)'")
      let (answers, continuation) = AsyncStream<String>.makeStream()
      service.search(term) { continuation.yield(Self.describe($0)) }
      let answer = try await first(of: answers, within: .seconds(60), on: demo.clock)
      demo.log("callback", answer ?? "is not called")
    }

    // No search is running, so there is no answer.
    let (answers, continuation) = AsyncStream<String>.makeStream()
    let answer = try await first(of: answers, within: .seconds(1), on: demo.clock)
    demo.log("caller", "has heard \(answer ?? "nothing") for a second, as expected")
    continuation.finish()
  }

  /// Returns the first answer, or `nil` if there is none within `timeout`.
  private func first(
    of answers: AsyncStream<String>, within timeout: Duration, on clock: any Clock<Duration>
  ) async throws -> String? {
    // The timeout cancels the body, which ends the iteration of the stream.
    try await withTimeout(timeout, clock: clock) { await answers.first { _ in true } }
  }

  private static func describe(_ result: Result<[Track], any Error>) -> String {
    switch result {
    case .success(let tracks): "found \(tracks.count): \(tracks.map(\.title))"
    case .failure(is DecodingError): "does not understand the answer"
    case .failure(let error): "\(error)"
    }
  }
}
