import Clocks
import TimeoutTask

/// The countdown of a chat app, posted to a server, on a clock of one's choice.
struct CountdownScenario: Scenario {
  static let name = "countdown"
  static let summary = "a chat app counts down to a message, one post a second"
  static let clocks: [ClockChoice] = [.test, .continuous, .immediate]
  static let operands = [
    Operand(name: "MESSAGE", help: "what to say at the end (default: Hello)")
  ]
  static let options = [
    Option(name: "from", value: "N", help: "the first number, 1 to 3600 (default: 3)"),
    Option(name: "timeout", value: "SECONDS", help: "give up after so long (default: never)"),
  ]

  private let message: String
  private let start: Int
  private let timeout: Duration?

  init(_ arguments: Arguments) throws(UsageError) {
    message = arguments.operands.first ?? "Hello"
    guard !message.isEmpty else { throw UsageError("\(CountdownError.emptyMessage)") }
    start = try arguments.integer("from", in: 1...3600) ?? 3
    timeout = try arguments.seconds("timeout")
  }

  func play(on stage: Stage) async throws {
    let server = StubServer()
    let chat = ChatClient(server: server.url, http: server.http)
    var model = CountdownModel { line in
      try await chat.say(line)
      stage.log("chat", line)
    }
    model.sleep = stage.clock.sleep(nanoseconds:)
    guard let timeout else { return try await model.countdown(to: message, from: start) }
    guard let immediate = stage.clock as? ImmediateClock<Duration> else {
      return try await withTimeout(timeout, clock: stage.clock, name: Self.name) {
        try await model.countdown(to: message, from: start)
      }
    }
    // On a clock that does not wait, a timeout would be over before the countdown begins. So it is
    // the time that would have passed that is measured.
    let deadline = immediate.now + timeout
    model.sleep = { nanoseconds in
      let end = immediate.now + .nanoseconds(nanoseconds)
      try await immediate.sleep(until: min(end, deadline))
      if end > deadline { throw TimeoutError(timeout: timeout, operation: Self.name) }
    }
    try await model.countdown(to: message, from: start)
  }
}
