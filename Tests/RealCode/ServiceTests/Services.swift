import AsyncAlgorithms
import Logging
import RealCodeSupport
import ServiceLifecycle

/// A service that polls until the shutdown, and then says goodbye.
struct Poller: Service {
  let name: String
  let interval: Duration
  /// The duration of the goodbye.
  var farewell = Duration.zero
  var clock: any Clock<Duration> = .continuous
  let log: EventLog

  func run() async throws {
    log.add("\(name) begins")
    try? await cancelWhenGracefulShutdown {
      while true {
        try await clock.sleep(for: interval)
        log.add("\(name) polls")
      }
    }
    try await clock.sleep(for: farewell)
    log.add("\(name) ends")
  }
}

/// A service that ignores a graceful shutdown, and continues for a while after its cancellation.
struct Stubborn: Service {
  /// The time for which it continues after its cancellation.
  let obstinacy: Duration
  let log: EventLog

  func run() async throws {
    log.add("stubborn begins")
    do {
      try await withGracefulShutdownHandler {
        try await Task.sleep(for: .seconds(1_000_000))
      } onGracefulShutdown: {
        log.add("stubborn does not listen")
      }
    } catch {
      log.add("stubborn is cancelled")
      // An unstructured task is not cancelled with its creator.
      await Task { try? await Task.sleep(for: obstinacy) }.value
      log.add("stubborn ends")
    }
  }
}

/// A service that throws an error after a delay.
struct Fragile: Service {
  struct Failure: Error {}
  let lifetime: Duration

  func run() async throws {
    try await Task.sleep(for: lifetime)
    throw Failure()
  }
}

extension Logger {
  /// A logger without output.
  static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

extension ServiceGroup {
  /// A group without signal handlers and without log output.
  init(_ services: any Service..., gracefully: Duration? = nil, cancelling: Duration? = nil) {
    var configuration = ServiceGroupConfiguration(services: services, logger: .silent)
    configuration.maximumGracefulShutdownDuration = gracefully
    configuration.maximumCancellationDuration = cancelling
    self.init(configuration: configuration)
  }
}

/// A service that ticks every second until the shutdown.
struct Ticker: Service {
  let log: EventLog

  func run() async throws {
    let timer = AsyncTimerSequence(interval: .seconds(1), clock: .continuous)
    for await _ in timer.cancelOnGracefulShutdown() { log.add("tick") }
    log.add("end")
  }
}
