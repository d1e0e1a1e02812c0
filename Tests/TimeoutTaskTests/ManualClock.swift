import Synchronization

/// A clock that moves when it is told to, and does nothing else.
final class ManualClock: Clock, Identifiable, Sendable {
  struct Instant: InstantProtocol, Hashable {
    var offset: Duration = .zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  private struct State {
    var now = Instant()
    var number = 0
    var sleeps: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }
  var pendingSleeps: [Instant] { state.withLock { $0.sleeps.values.map(\.deadline).sorted() } }

  nonisolated(nonsending) func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock {
      $0.number += 1
      return $0.number
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isDue = state.withLock {
          if deadline > $0.now { $0.sleeps[number] = (deadline, continuation) }
          return deadline <= $0.now
        }
        if isDue { return continuation.resume() }
        if Task.isCancelled { cancel(number) }
      }
    } onCancel: {
      cancel(number)
    }
  }

  private func cancel(_ number: Int) {
    state.withLock { $0.sleeps.removeValue(forKey: number) }?.continuation
      .resume(throwing: CancellationError())
  }

  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleeps.filter { $0.value.deadline <= state.now }
      for number in due.keys { state.sleeps[number] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
    }
    for (_, sleep) in due { sleep.continuation.resume() }
  }
}
