import Testing
import TimeoutTask

/// The deadline, the end of the operation, and a cancellation of the caller arrive together, each
/// from a different thread.
///
/// See `testCount()`.
@Suite struct WithDeadlineRaceTests {
  enum Blow: Int, CaseIterable {
    case letTheOperationEnd, letTheDeadlinePass, cancelTheCaller
  }

  struct Heat: Sendable {
    let number: Int
    let blows: Set<Blow>
    let clock = HandFiredClock()
    let gate = Gate()
    let task: Task<Int, any Error>

    init(_ number: Int) {
      self.number = number
      // The operation has to end. Each of the other events is left out in every fourth heat.
      blows = Set(
        Blow.allCases.filter { $0 == .letTheOperationEnd || number >> ($0.rawValue * 2) & 3 != 0 })
      task = Task.immediate { [clock, gate] in
        try await withTimeout(.seconds(1), clock: clock) {
          await gate.pass()
          try Task.checkCancellation()
          return number
        }
      }
    }

    func strike(_ blow: Blow) {
      guard blows.contains(blow) else { return }
      switch blow {
      case .letTheOperationEnd: gate.open()
      case .letTheDeadlinePass: clock.fire()
      case .cancelTheCaller: task.cancel()
      }
    }

    /// Checks the outcome against the rules, and returns it.
    func verdict() async -> Outcome {
      let outcome: Outcome
      switch await task.result {
      case .success(let value):
        outcome = .result
        check(value == number)
      case .failure(let error as TimeoutError):
        outcome = .timeout
        check(blows.contains(.letTheDeadlinePass))
        check(error.underlyingError is CancellationError)
      case .failure(let error):
        outcome = .cancellation
        check(error is CancellationError && blows.contains(.cancelTheCaller))
      }
      check(!clock.isSleeping)
      return outcome
    }

    private func check(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
      if condition { return }
      Issue.record("Heat \(number) with \(blows) violated a rule.", sourceLocation: sourceLocation)
    }
  }

  enum Outcome: Hashable {
    case result, timeout, cancellation
  }

  @Test func theFirstEventDecides() async {
    let contestants = Contestants(Blow.allCases.count)
    defer { contestants.dismiss() }
    var counts: [Outcome: Int] = [:]
    let size = 64
    for round in 0..<(testCount() + size - 1) / size {
      let heats = (0..<size).map { Heat(round * size + $0) }
      await contestants.race { contestant in
        for heat in heats {
          let blow = (contestant + heat.number) % Blow.allCases.count
          heat.strike(Blow.allCases[blow])
        }
      }
      for heat in heats { counts[await heat.verdict(), default: 0] += 1 }
    }
    print("Winners: \(counts).")
    #expect(counts.count == 3)
  }
}
