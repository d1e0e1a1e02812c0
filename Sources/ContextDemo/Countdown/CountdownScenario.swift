/// The countdown of a chat app, on a clock of one's choice.
struct CountdownScenario: Scenario {
  static let name = "countdown"
  static let summary = "a chat app counts down to a message, one line a second"
  static let operands = [
    Operand(name: "MESSAGE", help: "what to say at the end (default: Hello)")
  ]
  static let options = [
    Option(name: "from", value: "N", help: "the first number, 1 to 3600 (default: 3)")
  ]

  private let message: String
  private let start: Int

  init(_ arguments: Arguments) throws(UsageError) {
    message = arguments.operands.first ?? "Hello"
    guard !message.isEmpty else { throw UsageError("\(CountdownError.emptyMessage)") }
    start = try arguments.integer("from", in: 1...3600) ?? 3
  }

  func play(on stage: Stage) async throws {
    var model = CountdownModel { stage.log("chat", $0) }
    model.sleep = { [clock = stage.clock] in
      try await clock.sleep(for: .nanoseconds(Int64($0)))
    }
    try await model.countdown(to: message, from: start)
  }
}
