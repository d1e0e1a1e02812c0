import Testing
import TimeoutTask

/// One use of the module, and the events that threads cause in it together.
protocol RaceAttempt: Sendable {
  associatedtype Event: Hashable, CaseIterable, Sendable

  var number: Int { get }
  var events: Set<Event> { get }

  init(_ number: Int)

  func cause(_ event: Event)

  /// Checks the outcome against the rules, and returns it.
  func checkedOutcome() async -> RaceOutcome
}

enum RaceOutcome: Hashable {
  /// `other` is also a result that belongs to another attempt.
  case result, timeout, cancellation, other

  init(_ result: Result<Int, any Error>, of number: Int) {
    switch result {
    case .success(number): self = .result
    case .failure(is TimeoutError): self = .timeout
    case .failure(is CancellationError): self = .cancellation
    default: self = .other
    }
  }
}

extension RaceAttempt {
  /// Makes `testCount()` attempts. Returns how often each outcome has occurred.
  static func race() async -> [RaceOutcome: Int] {
    let events = Array(Event.allCases)
    let threads = RacingThreads(events.count)
    defer { threads.end() }
    var counts: [RaceOutcome: Int] = [:]
    let size = 64
    for round in 0..<(testCount() + size - 1) / size {
      let attempts = (0..<size).map { Self(round * size + $0) }
      await threads.run { thread in
        for attempt in attempts {
          // Each thread causes another event in the next attempt, so that no event is always the first.
          let event = events[(thread + attempt.number) % events.count]
          if attempt.events.contains(event) { attempt.cause(event) }
        }
      }
      for attempt in attempts { counts[await attempt.checkedOutcome(), default: 0] += 1 }
    }
    return counts
  }

  /// A fast `#expect`.
  func check(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    if condition { return }
    Issue.record(
      "Attempt \(number) with \(events) violated a rule.", sourceLocation: sourceLocation)
  }
}
