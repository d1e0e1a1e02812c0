import TimeoutTask

/// A service with a timeout: what its handler gets, and when.
struct TimeoutServiceScenario: Scenario {
  static let name = "timeout-service"
  static let summary = "a service with a timeout: success, timeout, release, start again"
  static let options = [
    Option(name: "work", value: "SECONDS", help: "how long its work takes (default: 1)"),
    Option(name: "timeout", value: "SECONDS", help: "how long it may take (default: 2)"),
  ]

  private let duration: Duration
  private let timeout: Duration

  init(_ arguments: Arguments) throws(UsageError) {
    duration = try arguments.seconds("work") ?? .seconds(1)
    timeout = try arguments.seconds("timeout") ?? .seconds(2)
  }

  func play(on stage: Stage) async throws {
    let moment = min(duration, timeout) / 2
    let aWhile = max(duration, timeout) + moment
    var service: TimeoutService? = TimeoutService(clock: stage.clock) { [duration] in
      do {
        try await stage.clock.sleep(for: duration)
      } catch {
        stage.log("work", "is cancelled")
        throw error
      }
      return "done"
    }

    stage.log("service", "starts; \(timeout.inSeconds) allowed")
    service?.start(timeout: timeout) { stage.log("handler", Self.describe($0)) }
    try await stage.clock.sleep(for: aWhile)

    stage.log("service", "starts again; \(moment.inSeconds) allowed")
    service?.start(timeout: moment) { stage.log("handler", Self.describe($0)) }
    try await stage.clock.sleep(for: aWhile)

    stage.log("service", "starts the first of two")
    service?.start(timeout: timeout) { stage.log("first", Self.describe($0)) }
    try await stage.clock.sleep(for: moment)
    stage.log("service", "starts the second")
    service?.start(timeout: timeout) { stage.log("second", Self.describe($0)) }
    try await stage.clock.sleep(for: aWhile)

    stage.log("service", "starts, to be released")
    service?.start(timeout: timeout) { stage.log("handler", Self.describe($0)) }
    try await stage.clock.sleep(for: moment)
    stage.log("service", "is released")
    service = nil
    try await stage.clock.sleep(for: aWhile)
  }

  private static func describe(_ result: Result<String, any Error>) -> String {
    switch result {
    case .success(let value): value
    case .failure(let error): "\(error)"
    }
  }
}
