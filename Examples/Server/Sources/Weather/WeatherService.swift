import Clocks
import TimeoutTask

/// How warm it is somewhere, in degrees.
public struct Report: Sendable, Hashable {
  public let city: String
  public let degrees: Int

  public init(city: String, degrees: Int) {
    self.city = city
    self.degrees = degrees
  }
}

/// Where reports come from: another service, which may be slow, or away.
public protocol WeatherStation: Sendable {
  func report(for city: String) async throws -> Report
}

/// Answers requests, and asks the station as seldom as it can.
public actor WeatherService {
  private let station: any WeatherStation
  private let clock: AnyClock<Duration>
  private var kept: [String: (report: Report, expiry: AnyClock<Duration>.Instant)] = [:]

  public init(station: any WeatherStation, clock: some Clock<Duration> = ContinuousClock()) {
    self.station = station
    self.clock = AnyClock(clock)
  }

  /// A report that is no older than a minute.
  ///
  /// It is asked for up to four times, with pauses of 1, 2 and 4 seconds, and each time for no more than
  /// five seconds.
  public func report(for city: String) async throws -> Report {
    if let (report, expiry) = kept[city], clock.now < expiry { return report }
    let report = try await ask(for: city, pauses: [1, 2, 4])
    kept[city] = (report, clock.now + .seconds(60))
    return report
  }

  /// Keeps the reports for some cities fresh, until the task is cancelled.
  public func refresh(_ cities: [String], every interval: Duration) async {
    for await _ in clock.timer(interval: interval) {
      for city in cities {
        kept[city] = nil
        _ = try? await report(for: city)
      }
    }
  }

  private func ask(for city: String, pauses: [Int]) async throws -> Report {
    for pause in pauses {
      do {
        return try await askOnce(for: city)
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        try await clock.sleep(for: .seconds(pause))
      }
    }
    return try await askOnce(for: city)
  }

  private func askOnce(for city: String) async throws -> Report {
    try await withTimeout(.seconds(5), clock: clock, name: "ask the station") { [station] in
      try await station.report(for: city)
    }
  }
}
