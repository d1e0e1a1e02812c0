import TimeoutTask

/// Shows which results the handler of a service with a timeout receives, and when.
struct TimeoutServiceScenario: Scenario {
  static let name = "timeout-service"
  static let summary = "a service with a timeout: success, timeout, release, start again"
  static let parameters: [Parameter] = [
    ("--work SECONDS", "the duration of its work (default: 1)"),
    ("--timeout SECONDS", "the timeout (default: 2)"),
  ]

  private let duration: Duration
  private let timeout: Duration

  init(_ arguments: Arguments) throws(UsageError) {
    duration = try arguments.seconds("--work") ?? .seconds(1)
    timeout = try arguments.seconds("--timeout") ?? .seconds(2)
  }

  func run(in demo: DemoEnvironment) async throws {
    let half = min(duration, timeout) / 2
    let pause = max(duration, timeout) + half
    var service: TimeoutService? = TimeoutService(clock: demo.clock) { [duration] in
      do {
        try await demo.clock.sleep(for: duration)
      } catch {
        demo.log("work", "is cancelled")
        throw error
      }
      return "done"
    }

    demo.log("service", "starts; \(timeout.inSeconds) allowed")
    service?.start(timeout: timeout) { demo.log("handler", Self.describe($0)) }
    try await demo.clock.sleep(for: pause)

    demo.log("service", "starts again; \(half.inSeconds) allowed")
    service?.start(timeout: half) { demo.log("handler", Self.describe($0)) }
    try await demo.clock.sleep(for: pause)

    demo.log("service", "starts the first of two")
    service?.start(timeout: timeout) { demo.log("first", Self.describe($0)) }
    try await demo.clock.sleep(for: half)
    demo.log("service", "starts the second")
    service?.start(timeout: timeout) { demo.log("second", Self.describe($0)) }
    try await demo.clock.sleep(for: pause)

    demo.log("service", "starts, to be released")
    service?.start(timeout: timeout) { demo.log("handler", Self.describe($0)) }
    try await demo.clock.sleep(for: half)
    demo.log("service", "is released")
    service = nil
    try await demo.clock.sleep(for: pause)
  }

  private static func describe(_ result: Result<String, any Error>) -> String {
    switch result {
    case .success(let value): value
    case .failure(let error): "\(error)"
    }
  }
}
