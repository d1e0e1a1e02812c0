import Testing
import TimeoutTask

/// Result, timeout and cancellations arrive together, each from a different thread.
///
/// See `testCount()`.
@Suite struct RaceTests {
  /// One `TimeoutTask` with two waiters. Only the second one may be cancelled.
  struct Attempt: RaceAttempt {
    enum Event: Int, CaseIterable {
      case letTheWorkEnd, letTheTimeoutPass, cancel, cancelAWaiter
    }

    let number: Int
    let events: Set<Event>
    let clock = HandFiredClock()
    let gate = Gate()
    let lateResults = Log<Int>()
    let lateResult = Gate()
    let task: TimeoutTask<Int>
    /// `nil` in every fifth attempt, where the other waiter is the last.
    let waiter: Task<Result<Int, any Error>, Never>?
    let cancelledWaiter: Task<Result<Int, any Error>, Never>

    init(_ number: Int) {
      self.number = number
      // The work has to end. Each of the other events is left out in every fourth attempt.
      events = Set(Event.allCases.filter { $0 == .letTheWorkEnd || number >> $0.rawValue & 3 != 0 })
      let (gate, lateResults, lateResult) = (gate, lateResults, lateResult)
      let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
        await gate.pass()
        return number
      } onLateResult: { _ in
        lateResults.add(number)
        lateResult.open()
      }
      self.task = task
      waiter = number % 5 == 0 ? nil : Task.immediate { await task.result }
      cancelledWaiter = Task.immediate { await task.result }
    }

    func cause(_ event: Event) {
      switch event {
      case .letTheWorkEnd: gate.open()
      case .letTheTimeoutPass: clock.fire()
      case .cancel: task.cancel()
      case .cancelAWaiter: cancelledWaiter.cancel()
      }
    }

    func checkedOutcome() async -> RaceOutcome {
      let outcome = await RaceOutcome(task.result, of: number)
      switch outcome {
      case .result: break
      case .timeout: check(events.contains(.letTheTimeoutPass))
      case .cancellation:
        check(events.contains(.cancel) || waiter == nil && events.contains(.cancelAWaiter))
      case .other: check(false)
      }
      if let waiter { check(await RaceOutcome(waiter.value, of: number) == outcome) }
      let other = await RaceOutcome(cancelledWaiter.value, of: number)
      check(other == outcome || other == .cancellation && events.contains(.cancelAWaiter))
      check(!clock.isSleeping)
      if outcome == .result {
        check(lateResults.all == [])
      } else {
        await lateResult.pass()
        check(lateResults.all == [number])
      }
      return outcome
    }
  }

  @Test func theFirstEventDecidesForAllWaiters() async {
    let counts = await Attempt.race()
    #expect(Set(counts.keys) == [.result, .timeout, .cancellation], "\(counts)")
  }
}
