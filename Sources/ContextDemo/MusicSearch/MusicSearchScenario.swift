import Foundation
import TimeoutTask

/// A search for music: what a caller with a callback sees of servers of all kinds.
struct MusicSearchScenario: Scenario {
  static let name = "music-search"
  static let summary = "a search on a server: success, failure, nonsense, silence"
  static let operands = [Operand(name: "TERM", help: "what to search for (default: sun)")]
  static let options = [
    Option(name: "response", value: "SECONDS", help: "how long the server takes (default: 0.1)")
  ]

  private let term: String
  private let delay: Duration

  init(_ arguments: Arguments) throws(UsageError) {
    term = arguments.operands.first ?? "sun"
    delay = try arguments.seconds("response") ?? .milliseconds(100)
  }

  func play(on stage: Stage) async throws {
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
      let http = server.http.delayed(by: delay, on: stage.clock)
      let service = MusicService(server: server.url, http: http)
      stage.log("caller", "asks \(name) for '\(term)'")
      let (answers, continuation) = AsyncStream<String>.makeStream()
      service.search(term) { continuation.yield(Self.describe($0)) }
      let answer = try await first(of: answers, within: .seconds(60), on: stage.clock)
      stage.log("callback", answer ?? "is not called")
    }

    // Nobody is asked, so nobody answers.
    let (answers, continuation) = AsyncStream<String>.makeStream()
    let answer = try await first(of: answers, within: .seconds(1), on: stage.clock)
    stage.log("caller", "has heard \(answer ?? "nothing") for a second, as expected")
    continuation.finish()
  }

  /// The first element that comes in time, if one does.
  private func first(
    of answers: AsyncStream<String>, within timeout: Duration, on clock: any Clock<Duration>
  ) async throws -> String? {
    // At the deadline the body is cancelled, and with it the stream ends.
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
