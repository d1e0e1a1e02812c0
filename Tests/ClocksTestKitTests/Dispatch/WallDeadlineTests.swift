import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import TestTraits
import Testing

/// Work of Dispatch that waits for a date follows a change of the scope's date.
@Suite struct WallDeadlineTests {
  private let queue = DispatchQueue(label: "later")

  /// Sets the date to whole microseconds, to which later settings round.
  private func scopeAtAKnownDate() throws -> VirtualTime {
    let time = try VirtualTime.required
    time.date = Date(timeIntervalSince1970: 1_000_000)
    return time
  }

  /// Delays work by a date and by a duration, changes the date, and returns when the work began.
  private func times(
    _ delays: [Double], _ change: (VirtualTime) -> Void
  ) async throws -> [String] {
    let time = try scopeAtAKnownDate()
    let start = ContinuousClock.now
    let log = Log<String>()
    for delay in delays {
      queue.asyncAfter(wallDeadline: .now() + delay) { log.add("date \(delay)", since: start) }
      queue.asyncAfter(deadline: .now() + delay) { log.add("time \(delay)", since: start) }
    }
    try await Task.sleep(for: .seconds(1))
    change(time)
    log.add("changed", since: start)
    try await Task.sleep(for: .seconds(100))
    return log.all
  }

  @Test(.virtualTime) func aDateThatMovesForwardShortensTheWait() async throws {
    #expect(
      try await times([10]) { $0.date += 7 } == ["changed 1.0", "date 10.0 3.0", "time 10.0 10.0"])
  }

  @Test(.virtualTime) func aDateThatMovesBackExtendsTheWait() async throws {
    #expect(
      try await times([10]) { $0.date -= 7 } == ["changed 1.0", "time 10.0 10.0", "date 10.0 17.0"])
  }

  /// Deadlines that have passed come in the order of their dates.
  @Test(.virtualTime) func workWhoseDateHasPassedBeginsNext() async throws {
    #expect(
      try await times([20, 10]) { $0.date += 50 } == [
        "changed 1.0", "date 10.0 1.0", "date 20.0 1.0", "time 10.0 10.0", "time 20.0 20.0",
      ])
  }

  @Test(.virtualTime) func onlyTheLastOfSeveralChangesMatters() async throws {
    let times = try await times([10]) {
      $0.date += 50
      $0.date -= 50
    }
    #expect(times == ["changed 1.0", "date 10.0 10.0", "time 10.0 10.0"])
  }

  @Test(.virtualTime(freezesDate: false)) func aRealDeadlineDoesNotFollowTheDateOfTheScope()
    async throws
  {
    let times = try await times([10]) { $0.date -= 7 }
    #expect(times.count == 3)
    // If the deadline followed the date, its work would come last, at 17 s.
    #expect(times.last == "time 10.0 10.0")
  }

  /// A timer keeps to the dates of its firings, and a single event stands for those that it has missed.
  @Test(.virtualTime) func aTimerFollowsTheDate() async throws {
    let time = try scopeAtAKnownDate()
    let start = ContinuousClock.now
    let log = Log<String>()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { log.add("tick \(timer.data)", since: start) }
    timer.schedule(wallDeadline: .now() + 10, repeating: 10)
    timer.activate()
    try await Task.sleep(for: .seconds(1))
    time.date += 24
    try await Task.sleep(for: .seconds(9))
    time.date -= 2
    try await Task.sleep(for: .seconds(12))
    timer.suspend()
    time.date += 1
    timer.resume()
    try await Task.sleep(for: .seconds(8))
    timer.cancel()
    #expect(
      log.all == ["tick 2 1.0", "tick 1 6.0", "tick 1 18.0", "tick 1 27.0"])
  }

  /// A timer that waits for a duration fires when that has passed.
  @Test(.virtualTime) func aTimerOfAnotherClockDoesNotFollowTheDate() async throws {
    let time = try scopeAtAKnownDate()
    let start = ContinuousClock.now
    let log = Log<String>()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { log.add("tick", since: start) }
    timer.schedule(deadline: .now() + 10, repeating: 10)
    timer.activate()
    time.date += 100
    try await Task.sleep(for: .seconds(25))
    timer.cancel()
    #expect(log.all == ["tick 10.0", "tick 20.0"])
  }
}
