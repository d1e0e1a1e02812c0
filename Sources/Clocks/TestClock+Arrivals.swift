import Dispatch

extension TestClock {
  /// Waits until `count` sleeps are pending on this clock.
  ///
  /// For sleeps that arrive from outside the test's tasks, from a thread or a callback, whose
  /// coming ``settle()`` cannot know of. What is pending already counts. Time does not move; the
  /// call returns at the moment when the last of the sleeps is registered.
  ///
  /// On cancellation it throws at once. O(1), and O(waiting calls) for each sleep that is
  /// registered meanwhile.
  ///
  /// - Parameters:
  ///   - count: How many sleeps to wait for; zero or less is there already.
  ///   - timeout: How much real time they may take to come; ten seconds by default.
  /// - Throws: ``SleepArrivalError`` if they did not come in time; `CancellationError` if the task
  ///   is cancelled.
  public nonisolated(nonsending) func waitForSleeps(
    atLeast count: Int = 1, timeout: Swift.Duration = .seconds(10)
  ) async throws {
    try Task.checkCancellation()
    scheduler.admitCurrentTask()
    let arrival = SleepArrival(count: count)
    let number: UInt64? = scheduler.lock.withLock {
      guard time.sleeps.count < count else { return nil }
      time.nextArrival += 1
      time.arrivals[time.nextArrival] = arrival
      return time.nextArrival
    }
    guard let number else { return }
    let giveUp = { @Sendable (error: any Error) in
      let isWaiting = self.scheduler.lock.withLock {
        self.time.arrivals.removeValue(forKey: number) != nil
      }
      if isWaiting { arrival.fail(error) }
    }
    let alarm = DispatchWorkItem { [weak self] in
      guard let self else { return }
      giveUp(
        SleepArrivalError(
          expected: count, pendingSleeps: pendingSleeps.map(\.description), timeout: timeout))
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + timeout.seconds, execute: alarm)
    defer { alarm.cancel() }
    try await withTaskCancellationHandler {
      try await arrival.wait()
    } onCancel: {
      giveUp(CancellationError())
    }
  }

  /// Takes out those who waited for as many sleeps as there are now. Called with the scheduler's
  /// lock held.
  func takeFulfilledArrivals() -> [SleepArrival] {
    guard !time.arrivals.isEmpty else { return [] }
    let count = time.sleeps.count
    let fulfilled = time.arrivals.filter { $0.value.count <= count }
    for number in fulfilled.keys { time.arrivals.removeValue(forKey: number) }
    return fulfilled.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// Says that fewer sleeps than expected arrived on a ``TestClock`` in time.
///
/// ``TestClock/waitForSleeps(atLeast:timeout:)`` throws it.
public struct SleepArrivalError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How many sleeps were expected.
  public let expected: Int
  /// The sleeps that did arrive, described in the order in which they would wake.
  public let pendingSleeps: [String]
  /// How much real time they had.
  public let timeout: Duration

  /// What was expected, what was found, and what to do about it.
  public var description: String {
    """
    Expected at least \(expected) pending sleep\(expected == 1 ? "" : "s") within \(timeout) of \
    real time, but there \(pendingSleeps.count == 1 ? "is 1" : "are \(pendingSleeps.count)")\
    \(pendingSleeps.isEmpty ? "" : ":\n\(pendingSleeps.listed)").
    See to it that the work outside reaches its sleep on this clock, or allow it more time.
    """
  }
}

/// Somebody who waits for sleeps to arrive.
///
/// It ends once: whoever takes it out of its clock's `arrivals` ends it.
final class SleepArrival: Sendable {
  let count: Int

  /// Guards `state`.
  private let lock = Lock()
  nonisolated(unsafe) private var state = State.begun

  private enum State {
    case begun
    case waiting(UnsafeContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  init(count: Int) {
    self.count = count
  }

  deinit { lock.destroy() }

  func fulfil() { end(.success(())) }

  func fail(_ error: any Error) { end(.failure(error)) }

  private func end(_ result: Result<Void, any Error>) {
    let continuation: UnsafeContinuation<Void, any Error>? = lock.withLock {
      defer { state = .ended(result) }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(with: result)
  }

  nonisolated(nonsending) func wait() async throws {
    try await withUnsafeThrowingContinuation { continuation in
      let result: Result<Void, any Error>? = lock.withLock {
        if case .ended(let result) = state { return result }
        state = .waiting(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

extension Duration {
  /// The length in seconds, rounded.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
