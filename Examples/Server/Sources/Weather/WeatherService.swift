import ClocksCore
import TimeoutTask

/// The temperature in a city, in degrees.
public struct Report: Sendable, Hashable {
  public let city: String
  public let degrees: Int

  public init(city: String, degrees: Int) {
    self.city = city
    self.degrees = degrees
  }
}

/// The source of reports: a remote service, which may be slow or unavailable.
public protocol WeatherStation: Sendable {
  func report(for city: String) async throws -> Report
}

/// Caches the reports of a station, and retries failed requests.
public actor WeatherService {
  private let station: any WeatherStation
  private let clock: AnyClock<Duration>
  private var cached: [String: (report: Report, expiry: AnyClock<Duration>.Instant)] = [:]

  public init(station: any WeatherStation, clock: some Clock<Duration> = ContinuousClock()) {
    self.station = station
    self.clock = AnyClock(clock)
  }

  /// Returns a report that is at most one minute old.
  ///
  /// Makes up to four attempts, with pauses of 1, 2 and 4 seconds. Each attempt has a timeout of
  /// five seconds.
  public func report(for city: String) async throws -> Report {
    if let (report, expiry) = cached[city], clock.now < expiry { return report }
    return try await fetch(city)
  }

  private func fetch(_ city: String) async throws -> Report {
    let backoff = Backoff.exponential(from: .seconds(1), upTo: .seconds(4), jitter: .none)
    let report = try await withRetry(
      attempts: 4, backoff: backoff, clock: clock, if: Self.mayRetry
    ) {
      try await withTimeout(.seconds(5), clock: clock, name: "fetch a report") {
        try await station.report(for: city)
      }
    }
    cached[city] = (report, clock.now + .seconds(60))
    return report
  }

  /// A station that was cancelled is not asked again.
  private static func mayRetry(_ error: any Error) -> Bool { !(error is CancellationError) }

  /// Refreshes the reports for `cities` every `interval` until the task is cancelled.
  ///
  /// A cached report stays available meanwhile, and also if the refresh fails.
  public func refresh(_ cities: [String], every interval: Duration) async {
    for await _ in clock.timer(interval: interval) {
      for city in cities { _ = try? await fetch(city) }
    }
  }
}
