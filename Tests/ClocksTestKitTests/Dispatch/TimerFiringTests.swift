import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// When timers fire, and how many firings their handlers are given. The values are those of Dispatch in real time.
@Suite struct TimerFiringTests {
  private struct Timer: @unchecked Sendable {
    let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    let calls = Log<String>()
    let start = DispatchTime.now()

    func handle() {
      source.setEventHandler { [self] in
        let time = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
        calls.add("\(source.data) at \(Double(time) / 1e9)")
      }
    }

    /// Lets the timer fire after 1, 5, 9, … seconds.
    func activate() {
      source.schedule(deadline: .now() + 1, repeating: 4)
      source.activate()
    }
  }

  private struct Use: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let calls: [String]
    let body: @Sendable (Timer) async throws -> Void

    init(
      _ description: String, _ calls: [String],
      _ body: @escaping @Sendable (Timer) async throws -> Void
    ) {
      (testDescription, self.calls, self.body) = (description, calls, body)
    }
  }

  private static func sleep(_ seconds: Double) async throws {
    try await Task.sleep(for: .seconds(seconds))
  }

  private static func scheduled(
    _ description: String, _ calls: [String],
    _ schedule: @escaping @Sendable (any DispatchSourceTimer) -> Void
  ) -> Use {
    Use(description, calls) {
      $0.handle()
      schedule($0.source)
      $0.source.activate()
      try await sleep(9)
    }
  }

  private static let uses: [Use] = [
    scheduled("starts in the past", ["3 at 0.0", "1 at 2.0", "1 at 6.0"]) {
      $0.schedule(deadline: .now() - 10, repeating: 4)
    },
    scheduled("starts at a date in the past", ["3 at 0.0", "1 at 2.0", "1 at 6.0"]) {
      $0.schedule(wallDeadline: .now() - 10, repeating: 4)
    },
    scheduled("starts now", ["1 at 0.0", "1 at 4.0", "1 at 8.0"]) {
      $0.schedule(wallDeadline: .now(), repeating: 4)
    },
    scheduled("fires once, in the past", ["1 at 0.0"]) {
      $0.schedule(deadline: .now() - 10)
    },
    Use("is activated late", ["3 at 10.5", "1 at 13.0", "1 at 17.0"]) {
      $0.handle()
      $0.source.schedule(deadline: .now() + 1, repeating: 4)
      try await sleep(10.5)
      $0.source.activate()
      try await sleep(9)
    },
    Use("is suspended", ["1 at 1.0", "2 at 10.5", "1 at 13.0", "1 at 17.0"]) {
      $0.handle()
      $0.activate()
      try await sleep(2)
      $0.source.suspend()
      try await sleep(8.5)
      $0.source.resume()
      try await sleep(9)
    },
    Use("is suspended and resumed while inactive", ["1 at 1.0", "1 at 5.0"]) {
      $0.handle()
      $0.source.suspend()
      $0.source.resume()
      $0.activate()
      try await sleep(8)
    },
    Use("is activated while suspended", ["1 at 2.0", "1 at 5.0"]) {
      $0.handle()
      for _ in 1...2 { $0.source.suspend() }
      $0.source.resume()
      $0.activate()
      try await sleep(2)
      $0.source.resume()
      try await sleep(6)
    },
    Use("is resumed instead of activated", ["1 at 2.0", "1 at 5.0"]) {
      $0.handle()
      $0.source.schedule(deadline: .now() + 1, repeating: 4)
      $0.source.suspend()
      $0.source.resume()
      try await sleep(2)
      $0.source.resume()
      try await sleep(6)
    },
    Use("is set to the past", ["1 at 1.0", "3 at 2.0", "1 at 4.5", "1 at 7.5"]) {
      $0.handle()
      $0.activate()
      try await sleep(2)
      $0.source.schedule(deadline: .now() - 6.5, repeating: 3)
      try await sleep(7)
    },
    Use("is set to the past while suspended", ["1 at 1.0", "3 at 7.0", "1 at 7.5", "1 at 10.5"]) {
      $0.handle()
      $0.activate()
      try await sleep(2)
      $0.source.suspend()
      try await sleep(4)
      $0.source.schedule(deadline: .now() - 7.5, repeating: 3)
      try await sleep(1)
      $0.source.resume()
      try await sleep(5)
    },
    Use("gets its handler later", ["1 at 13.0", "1 at 17.0"]) {
      $0.activate()
      try await sleep(10.5)
      $0.handle()
      try await sleep(9)
    },
    Use("gets its handler while suspended", ["1 at 10.5", "1 at 13.0", "1 at 17.0"]) {
      $0.activate()
      try await sleep(6)
      $0.source.suspend()
      $0.handle()
      try await sleep(4.5)
      $0.source.resume()
      try await sleep(9)
    },
    Use("has no handler for a while", ["1 at 1.0", "1 at 13.0", "1 at 17.0"]) {
      $0.handle()
      $0.activate()
      try await sleep(2)
      $0.source.setEventHandler(handler: nil)
      try await sleep(8.5)
      $0.handle()
      try await sleep(9)
    },
  ]

  @Test(.virtualTime, arguments: uses)
  private func aTimerFiresAsInRealTime(_ use: Use) async throws {
    let timer = Timer()
    try await use.body(timer)
    timer.source.cancel()
    #expect(timer.calls.all == use.calls)
  }

  /// Dispatch takes zero for the shortest interval.
  @Test(.virtualTime) func aTimerRepeatsWithoutAPause() async throws {
    let (source, calls) = (Timer().source, Tally())
    source.setEventHandler {
      calls.add()
      if calls.value == 3 { source.cancel() }
    }
    source.schedule(deadline: .now() + 1, repeating: .nanoseconds(0))
    source.activate()
    try await Task.sleep(for: .seconds(2))
    #expect(calls.value == 3)
  }
}
