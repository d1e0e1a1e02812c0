import Clocks
import Dispatch
import Foundation
import Testing

@testable import ContextDemo

@Suite struct ScenarioRunTests {
  /// Runs a scenario in virtual time with the arguments `words`.
  static func run(
    _ type: any Scenario.Type, _ words: [String] = []
  ) async throws -> (events: [EventLog.Event], outcome: ScenarioRun.Outcome) {
    let arguments = try Arguments(words, parameters: type.parameters)
    let (events, continuation) = AsyncStream<EventLog.Event>.makeStream()
    let outcome = await ScenarioRun.run(try type.init(arguments), on: .test) {
      continuation.yield($0)
    }
    continuation.finish()
    return (await events.reduce(into: []) { $0.append($1) }, outcome)
  }

  // MARK: - Scenarios

  @Test func countdown() async throws {
    let (events, outcome) = try await Self.run(CountdownScenario.self, ["Hi", "--from", "2"])
    #expect(
      events == [.init(0, "chat", "2..."), .init(1000, "chat", "1..."), .init(2000, "chat", "Hi")])
    #expect(outcome.elapsed == .seconds(2))
    #expect(outcome.error == nil)
  }

  @Test func timeoutService() async throws {
    let (events, outcome) = try await Self.run(TimeoutServiceScenario.self)
    #expect(outcome.error == nil)
    #expect(
      events == [
        .init(0, "service", "starts; 2.000 s allowed"),
        .init(1000, "handler", "done"),
        .init(2500, "service", "starts again; 0.500 s allowed"),
        .init(
          3000, "handler", "The operation timed out. The time allowed was 0.5 seconds."),
        .init(3000, "work", "is cancelled"),
        .init(5000, "service", "starts the first of two"),
        .init(5500, "service", "starts the second"),
        .init(5500, "work", "is cancelled"),
        .init(6500, "second", "done"),
        .init(8000, "service", "starts, to be released"),
        .init(8500, "service", "is released"),
        .init(8500, "work", "is cancelled"),
      ])
    #expect(outcome.elapsed == .milliseconds(11_000))
  }

  @Test func musicSearch() async throws {
    let (events, outcome) = try await Self.run(MusicSearchScenario.self)
    #expect(outcome.error == nil)
    #expect(
      events == [
        .init(0, "caller", "asks a confused server for 'sun'"),
        .init(100, "callback", "does not understand the answer"),
        .init(100, "caller", "asks a failing server for 'sun'"),
        .init(200, "callback", "the server answered with status 500"),
        .init(200, "caller", "asks a good server for 'sun'"),
        .init(300, "callback", "found 1: [\"Here comes the sun\"]"),
        .init(1300, "caller", "has heard nothing for a second, as expected"),
      ])
  }

  @Test func ordersAreFoundReplayedAndCorrected() async throws {
    let (events, outcome) = try await Self.run(OrdersScenario.self)
    #expect(outcome.error == nil)
    let texts = events.map(\.text)
    #expect(texts.first == "a cache that stores a picture after its download")
    #expect(texts.contains("2 downloads of one picture"))
    #expect(texts.contains { $0.hasPrefix("Replay: 1:") })
    #expect(events.filter { $0.source == "replay" }.map(\.text) == ["2 downloads of one picture"])
    #expect(texts.last?.hasSuffix("schedules") == true)
    #expect(texts.last?.contains("all of them, if jobs take no time") == true)
  }

  // MARK: - The environment

  @Test func virtualTimeStandsStillDuringExternalWork() async throws {
    struct ExternalWork: TestScenario {
      func run(in demo: DemoEnvironment) async throws {
        async let alarm: Void = {
          try? await demo.clock.sleep(for: .seconds(1))
          demo.log("alarm", "fires")
        }()
        await holdingVirtualTime {
          // The clock cannot see this thread.
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              Thread.sleep(forTimeInterval: 0.05)
              continuation.resume()
            }
          }
          demo.log("thread", "is done")
        }
        await alarm
      }
    }
    let (events, _) = try await Self.run(ExternalWork.self)
    #expect(events == [.init(0, "thread", "is done"), .init(1000, "alarm", "fires")])
  }

  @Test func outcomeContainsTheErrorOfTheScenario() async throws {
    struct Failing: TestScenario {
      struct Failure: Error {}
      func run(in demo: DemoEnvironment) async throws {
        try await demo.clock.sleep(for: .seconds(2))
        throw Failure()
      }
    }
    let (_, outcome) = try await Self.run(Failing.self)
    #expect(outcome.error is Failing.Failure)
    #expect(outcome.elapsed == .seconds(2))
  }

  @Test(arguments: [
    (Duration.zero, "    0.000 s"), (.milliseconds(7), "    0.007 s"),
    (.microseconds(1_234_567), "    1.235 s"), (.seconds(3600), " 3600.000 s"),
  ])
  func eventsArePrintedInColumns(_ time: Duration, _ column: String) {
    #expect("\(EventLog.Event(time: time, source: "a", text: "b"))" == column + "  a           b")
    #expect(
      "\(EventLog.Event(time: time, source: "long source", text: "b"))"
        == column + "  long source  b")
  }
}

private protocol TestScenario: Scenario {
  init()
}

extension TestScenario {
  static var name: String { "test" }
  static var summary: String { "a test" }
  init(_ arguments: Arguments) throws(UsageError) { self.init() }
}
