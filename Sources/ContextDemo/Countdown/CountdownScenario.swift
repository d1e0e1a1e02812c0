import Clocks
import Foundation
import TimeoutTask

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Runs the countdown of a chat app on a selectable clock, and posts it to a server.
struct CountdownScenario: Scenario {
  static let name = "countdown"
  static let summary = "a chat app counts down to a message, one post a second"
  static let clocks: [ClockChoice] = [.test, .continuous, .immediate]
  static let parameters: [Parameter] = [
    ("MESSAGE", "the last line (default: Hello)"),
    ("--from N", "the first number, 1 to 3600 (default: 3)"),
    ("--timeout SECONDS", "fail after this time (default: never)"),
  ]

  private let message: String
  private let start: Int
  private let timeout: Duration?

  init(_ arguments: Arguments) throws(UsageError) {
    message = arguments.operands.first ?? "Hello"
    guard !message.isEmpty else { throw UsageError("\(CountdownError.emptyMessage)") }
    start = try arguments.integer("--from", in: 1...3600) ?? 3
    timeout = try arguments.seconds("--timeout")
  }

  func run(in demo: DemoEnvironment) async throws {
    let server = StubServer()
    let chat = ChatClient(server: server.url, http: server.http)
    var model = CountdownModel { line in
      try await chat.say(line)
      demo.log("chat", line)
    }
    model.sleep = demo.clock.sleep(nanoseconds:)
    guard let timeout else { return try await model.countdown(to: message, from: start) }
    guard let immediate = demo.clock as? ImmediateClock<Duration> else {
      return try await withTimeout(timeout, clock: demo.clock, name: Self.name) {
        try await model.countdown(to: message, from: start)
      }
    }
    // On an immediate clock `withTimeout` would fail before the countdown starts. The sleep closure
    // checks the deadline instead. As on the other clocks, what is due at the deadline is too late.
    let deadline = immediate.now + timeout
    model.sleep = { nanoseconds in
      let end = immediate.now + .nanoseconds(nanoseconds)
      try await immediate.sleep(until: min(end, deadline))
      if end >= deadline { throw TimeoutError(timeout: timeout, operation: Self.name) }
    }
    try await model.countdown(to: message, from: start)
  }
}

/// Posts lines to a chat server.
struct ChatClient: Sendable {
  /// The JSON body of a request.
  struct Post: Codable, Hashable, Sendable {
    let line: String
  }

  let server: URL
  let http: HTTPClient

  /// Posts one line and returns when the server has answered.
  ///
  /// - Throws: ``HTTPError`` if the server rejects the line, and any error of the connection.
  func say(_ line: String) async throws {
    var request = URLRequest(url: server.appendingPathComponent("chat"))
    request.httpMethod = "POST"
    request.httpBody = try JSONEncoder().encode(Post(line: line))
    _ = try await http.data(for: request)
  }
}

extension StubServer.Request {
  /// The line in the body of a chat request, or `nil` for any other request.
  var line: String? {
    guard method == "POST", path == "/chat" else { return nil }
    return try? JSONDecoder().decode(ChatClient.Post.self, from: body).line
  }
}
