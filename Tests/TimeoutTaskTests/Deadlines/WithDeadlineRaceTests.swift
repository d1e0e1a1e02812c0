import Testing
import TimeoutTask

/// The deadline, the end of the operation, and a cancellation of the caller arrive together, each
/// from a different thread.
///
/// See `testCount()`.
@Suite struct WithDeadlineRaceTests {
  struct Attempt: RaceAttempt {
    enum Event: Int, CaseIterable {
      case letTheOperationEnd, letTheDeadlinePass, cancelTheCaller
    }

    let number: Int
    let events: Set<Event>
    let clock = HandFiredClock()
    let gate = Gate()
    let task: Task<Int, any Error>

    init(_ number: Int) {
      self.number = number
      // The operation has to end. Each of the other events is left out in every fourth attempt.
      events = Set(
        Event.allCases.filter { $0 == .letTheOperationEnd || number >> ($0.rawValue * 2) & 3 != 0 })
      task = Task.immediate { [clock, gate] in
        try await withTimeout(.seconds(1), clock: clock) {
          await gate.pass()
          try Task.checkCancellation()
          return number
        }
      }
    }

    func cause(_ event: Event) {
      switch event {
      case .letTheOperationEnd: gate.open()
      case .letTheDeadlinePass: clock.fire()
      case .cancelTheCaller: task.cancel()
      }
    }

    func checkedOutcome() async -> RaceOutcome {
      let result = await task.result
      let outcome = RaceOutcome(result, of: number)
      switch outcome {
      case .result: break
      case .timeout:
        check(events.contains(.letTheDeadlinePass))
        check(result.timeoutError?.underlyingError is CancellationError)
      case .cancellation: check(events.contains(.cancelTheCaller))
      case .other: check(false)
      }
      check(!clock.isSleeping)
      return outcome
    }
  }

  @Test func theFirstEventDecides() async {
    let counts = await Attempt.race()
    #expect(Set(counts.keys) == [.result, .timeout, .cancellation], "\(counts)")
  }
}

extension Result<Int, any Error> {
  fileprivate var timeoutError: TimeoutError? {
    if case .failure(let error) = self { error as? TimeoutError } else { nil }
  }
}
