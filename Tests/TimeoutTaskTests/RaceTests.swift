import Synchronization
import Testing
import TimeoutTask

/// Result, timeout and cancellations arrive together, each from a different thread.
///
/// See `testCount()`.
@Suite struct RaceTests {
  /// An event that a thread causes for one `TimeoutTask`.
  enum Blow: Int, CaseIterable {
    case letTheWorkEnd, letTheTimeoutPass, cancel, cancelAWaiter
  }

  /// One `TimeoutTask` with two waiters. Only the second one may be cancelled.
  struct Heat: Sendable {
    let number: Int
    let blows: Set<Blow>
    let clock = HandFiredClock()
    let gate = Gate()
    let lateResults = Log<Int>()
    let lateResult = Gate()
    let task: TimeoutTask<Int>
    /// Waits to the end. `nil` in every fifth heat, where the other waiter is the last.
    let steady: Task<Result<Int, any Error>, Never>?
    let fickle: Task<Result<Int, any Error>, Never>

    init(_ number: Int) {
      self.number = number
      // The work has to end. Each of the other events is left out in every fourth heat.
      blows = Set(Blow.allCases.filter { $0 == .letTheWorkEnd || number >> $0.rawValue & 3 != 0 })
      let (gate, lateResults, lateResult) = (gate, lateResults, lateResult)
      let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
        await gate.pass()
        return number
      } onLateResult: { _ in
        lateResults.add(number)
        lateResult.open()
      }
      self.task = task
      steady = number % 5 == 0 ? nil : Task.immediate { await task.result }
      fickle = Task.immediate { await task.result }
    }

    func strike(_ blow: Blow) {
      guard blows.contains(blow) else { return }
      switch blow {
      case .letTheWorkEnd: gate.open()
      case .letTheTimeoutPass: clock.fire()
      case .cancel: task.cancel()
      case .cancelAWaiter: fickle.cancel()
      }
    }

    /// Checks the outcome against the rules, and returns it.
    func verdict() async -> Outcome {
      let outcome = await Outcome(task.result)
      switch outcome {
      case .result(let value):
        check(value == number)
      case .timeout:
        check(blows.contains(.letTheTimeoutPass))
      case .cancellation:
        check(blows.contains(.cancel) || steady == nil && blows.contains(.cancelAWaiter))
      case .other:
        check(false)
      }
      if let steady { check(await Outcome(steady.value) == outcome) }
      let other = await Outcome(fickle.value)
      check(other == outcome || other == .cancellation && blows.contains(.cancelAWaiter))
      check(!clock.isSleeping)
      if case .result = outcome {
        check(lateResults.all == [])
      } else {
        await lateResult.pass()
        check(lateResults.all == [number])
      }
      return outcome
    }

    /// A fast `#expect`.
    private func check(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
      if condition { return }
      Issue.record("Heat \(number) with \(blows) violated a rule.", sourceLocation: sourceLocation)
    }
  }

  enum Outcome: Hashable {
    case result(Int)
    case timeout, cancellation, other

    init(_ result: Result<Int, any Error>) {
      switch result {
      case .success(let value): self = .result(value)
      case .failure(is TimeoutError): self = .timeout
      case .failure(is CancellationError): self = .cancellation
      case .failure: self = .other
      }
    }
  }

  @Test func theFirstEventWinsAndAllWaitersGetTheSame() async {
    let contestants = Contestants(Blow.allCases.count)
    defer { contestants.dismiss() }
    var counts = (results: 0, timeouts: 0, cancellations: 0)
    let size = 64
    let rounds = (testCount() + size - 1) / size
    for round in 0..<rounds {
      let heats = (0..<size).map { Heat(round * size + $0) }
      await contestants.race { contestant in
        for heat in heats {
          // The threads take turns with the events, so that none is always the first.
          let blow = (contestant + heat.number) % Blow.allCases.count
          heat.strike(Blow.allCases[blow])
        }
      }
      for heat in heats {
        switch await heat.verdict() {
        case .result: counts.results += 1
        case .timeout: counts.timeouts += 1
        case .cancellation, .other: counts.cancellations += 1
        }
      }
    }
    #expect(
      counts.results > 0 && counts.timeouts > 0 && counts.cancellations > 0,
      "Winners: \(counts).")
  }
}
