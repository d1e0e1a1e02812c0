import Foundation

/// A search for music, and four ways to test it.
struct MusicSearchScenario: Scenario {
  static let name = "music-search"
  static let summary = "a search on a server: success, failure, nonsense; and expectations"
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
      let answer = TimedExpectation("answer of \(name)")
      stage.log("caller", "asks \(name) for '\(term)'")
      service.search(term) { result in
        stage.log("callback", Self.describe(result))
        answer.fulfill()
      }
      try await answer.wait(within: .seconds(60), on: stage.clock)
    }

    let silence = TimedExpectation("a call that nobody makes", count: .never)
    try await silence.wait(within: .seconds(1), on: stage.clock)
    stage.log("caller", "has heard nothing for a second, as expected")
  }

  private static func describe(_ result: Result<[Track], any Error>) -> String {
    switch result {
    case .success(let tracks): "found \(tracks.count): \(tracks.map(\.title))"
    case .failure(is DecodingError): "does not understand the answer"
    case .failure(let error): "\(error)"
    }
  }
}
