import Clocks
import Testing
import TimeoutTask
import Weather

@Suite struct WeatherServiceTests {
  /// A station that answers after `delay`, and whose first `failures` answers are errors.
  private actor Station: WeatherStation {
    private let clock: TestClock<Duration>
    private let delay: Duration
    private let failures: Int
    private(set) var requests: [Duration] = []

    init(_ clock: TestClock<Duration>, delay: Duration = .zero, failures: Int = 0) {
      self.clock = clock
      self.delay = delay
      self.failures = failures
    }

    func report(for city: String) async throws -> Report {
      requests.append(clock.now.offset)
      let number = requests.count
      try await clock.sleep(for: delay)
      if number <= failures { throw Unavailable() }
      return Report(city: city, degrees: 20 + number)
    }
  }

  private struct Unavailable: Error {}

  private let clock = TestClock()

  @Test func retriesWithExponentialBackoff() async throws {
    let station = Station(clock, failures: 3)
    let service = WeatherService(station: station, clock: clock)
    let report = Task { try await service.report(for: "Oslo") }
    await clock.run()
    #expect(try await report.value == Report(city: "Oslo", degrees: 24))
    #expect(await station.requests == [0, 1, 3, 7].map(Duration.seconds))
  }

  @Test func failsAfterFourAttempts() async throws {
    let station = Station(clock, failures: 4)
    let service = WeatherService(station: station, clock: clock)
    let report = Task { try await service.report(for: "Oslo") }
    await clock.run()
    await #expect(throws: Unavailable.self) { try await report.value }
    #expect(await station.requests.count == 4)
  }

  @Test func timesOutAfterFiveSeconds() async throws {
    let station = Station(clock, delay: .seconds(6))
    let service = WeatherService(station: station, clock: clock)
    let report = Task { try await service.report(for: "Oslo") }
    await clock.run()
    await #expect(throws: TimeoutError(timeout: .seconds(5), operation: "fetch a report")) {
      try await report.value
    }
    #expect(await station.requests == [0, 6, 13, 22].map(Duration.seconds))
  }

  @Test func cachesAReportForOneMinute() async throws {
    let station = Station(clock)
    let service = WeatherService(station: station, clock: clock)
    #expect(try await service.report(for: "Oslo").degrees == 21)
    await clock.advance(by: .milliseconds(59_999))
    #expect(try await service.report(for: "Oslo").degrees == 21)
    await clock.advance(by: .milliseconds(1))
    #expect(try await service.report(for: "Oslo").degrees == 22)
  }

  @Test func refreshesUntilItIsCancelled() async throws {
    let station = Station(clock)
    let service = WeatherService(station: station, clock: clock)
    let refresh = Task { await service.refresh(["Oslo", "Rome"], every: .seconds(30)) }
    await clock.advance(by: .seconds(90))
    #expect(await station.requests == [30, 30, 60, 60, 90, 90].map(Duration.seconds))
    refresh.cancel()
    await refresh.value
    try await clock.checkSuspension()
  }

  @Test func aReportIsAvailableDuringItsRefresh() async throws {
    let station = Station(clock, delay: .seconds(2))
    let service = WeatherService(station: station, clock: clock)
    let first = Task { try await service.report(for: "Oslo") }
    await clock.advance(by: .seconds(2))
    let refresh = Task { await service.refresh(["Oslo"], every: .seconds(30)) }
    await clock.advance(by: .seconds(31))
    let second = Task { try await service.report(for: "Oslo") }
    await clock.advance(by: .seconds(3))
    #expect(try await second.value == first.value)
    #expect(await station.requests == [0, 32].map(Duration.seconds))
    refresh.cancel()
    await refresh.value
  }
}
