import Clocks
import ClocksTestKit
import Foundation
import Testing

@Suite(.enabled(if: runsSamples)) struct EverywhereTraitSamples {
  @Test(.virtualTime) func hasItsOwnScope() async throws {
    try await Task.sleep(for: .seconds(3600))
  }

  @Test func itsClockKeepsExactTime() async throws {
    let clock = TestClock()
    let start = clock.now
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    let dates = [Date(), Date()]
    #expect(dates[0] == dates[1])
    await clock.advance(by: .nanoseconds(999_999_999))
    #expect(clock.pendingSleeps.count == 1)
    await clock.advance(by: .nanoseconds(1))
    #expect(clock.pendingSleeps.isEmpty)
    try await task.value
    #expect(start.duration(to: clock.now) == .seconds(1))
  }

  @Test func losesAContinuation() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }
}
