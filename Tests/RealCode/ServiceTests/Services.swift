import AsyncAlgorithms
import Logging
import RealCodeSupport
import ServiceLifecycle

/// Asks for news again and again, until it is told to shut down; then it says goodbye.
struct Poller: Service {
  let name: String
  let interval: Duration
  /// How long the goodbye takes.
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

/// Takes no notice of a graceful shutdown; when it is cancelled it still takes its time.
struct Stubborn: Service {
  /// How long it goes on after its cancellation.
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
      // An own task does not hear of the cancellation.
      await Task { try? await Task.sleep(for: obstinacy) }.value
      log.add("stubborn ends")
    }
  }
}

/// Throws an error after a while.
struct Fragile: Service {
  struct Failure: Error {}
  let lifetime: Duration

  func run() async throws {
    try await Task.sleep(for: lifetime)
    throw Failure()
  }
}

extension Logger {
  /// A logger that says nothing.
  static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

extension ServiceGroup {
  /// A group without signal handlers that says nothing.
  init(_ services: any Service..., gracefully: Duration? = nil, cancelling: Duration? = nil) {
    var configuration = ServiceGroupConfiguration(services: services, logger: .silent)
    configuration.maximumGracefulShutdownDuration = gracefully
    configuration.maximumCancellationDuration = cancelling
    self.init(configuration: configuration)
  }
}

/// Ticks every second until the shutdown.
struct Ticker: Service {
  let log: EventLog

  func run() async throws {
    let timer = AsyncTimerSequence(interval: .seconds(1), clock: .continuous)
    for await _ in timer.cancelOnGracefulShutdown() { log.add("tick") }
    log.add("end")
  }
}
