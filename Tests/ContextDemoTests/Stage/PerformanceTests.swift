import Clocks
import Dispatch
import Foundation
import Testing

@testable import ContextDemo

@Suite struct PerformanceTests {
  /// Plays a scenario from its default arguments, or those given, on virtual time.
  static func perform(
    _ type: any Scenario.Type, _ words: [String] = []
  ) async throws -> (entries: [Timeline.Entry], outcome: Performance.Outcome) {
    let arguments = try Arguments(words, operands: type.operands, options: type.options)
    let (entries, continuation) = AsyncStream<Timeline.Entry>.makeStream()
    let outcome = await Performance.run(try type.init(arguments), on: .test) {
      continuation.yield($0)
    }
    continuation.finish()
    return (await entries.reduce(into: []) { $0.append($1) }, outcome)
  }

  @Test func theCountdown() async throws {
    let (entries, outcome) = try await Self.perform(CountdownScenario.self, ["Hi", "--from", "2"])
    #expect(
      entries == [.init(0, "chat", "2..."), .init(1000, "chat", "1..."), .init(2000, "chat", "Hi")])
    #expect(outcome.elapsed == .seconds(2))
    #expect(outcome.error == nil)
  }

  @Test func everyScenarioRunsOnVirtualTime() async throws {
    for scenario in allScenarios {
      let (entries, outcome) = try await Self.perform(scenario)
      #expect(outcome.error == nil, "\(scenario.name)")
      #expect(!entries.isEmpty, "\(scenario.name)")
    }
  }

  @Test func timeStandsStillWhileSomethingIsDoneOutside() async throws {
    struct Outside: ScenarioForTests {
      func play(on stage: Stage) async throws {
        async let alarm: Void = {
          try? await stage.clock.sleep(for: .seconds(1))
          stage.log("alarm", "rings")
        }()
        await outside {
          // A thread, of which the clock knows nothing.
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              Thread.sleep(forTimeInterval: 0.05)
              continuation.resume()
            }
          }
          stage.log("thread", "is done")
        }
        await alarm
      }
    }
    let (entries, _) = try await Self.perform(Outside.self)
    #expect(entries == [.init(0, "thread", "is done"), .init(1000, "alarm", "rings")])
  }

  @Test func whatAScenarioThrowsIsItsOutcome() async throws {
    struct Failing: ScenarioForTests {
      struct Oops: Error {}
      func play(on stage: Stage) async throws {
        try await stage.clock.sleep(for: .seconds(2))
        throw Oops()
      }
    }
    let (_, outcome) = try await Self.perform(Failing.self)
    #expect(outcome.error is Failing.Oops)
    #expect(outcome.elapsed == .seconds(2))
  }
}

/// A scenario that is of interest to a test only.
private protocol ScenarioForTests: Scenario {
  init()
}

extension ScenarioForTests {
  static var name: String { "test" }
  static var summary: String { "a test" }
  init(_ arguments: Arguments) throws(UsageError) { self.init() }
}
