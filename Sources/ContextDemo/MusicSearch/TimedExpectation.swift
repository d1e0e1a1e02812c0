import Foundation
import TimeoutTask

/// Something that is expected to happen, a number of times, within a time on a clock.
///
/// It can be fulfilled from anywhere, and is waited for once.
final class TimedExpectation: Sendable {
  /// How often it is to happen.
  enum Count: Hashable, Sendable {
    /// So often; then the wait is over.
    case atLeast(Int)
    /// So often and not more; the wait goes on to its end, to be sure.
    case exactly(Int)

    /// It must not happen.
    static let never = exactly(0)
  }

  let description: String
  let count: Count

  private let events: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init(_ description: String, count: Count = .atLeast(1)) {
    self.description = description
    self.count = count
    (events, continuation) = AsyncStream.makeStream()
  }

  /// Says that it has happened.
  func fulfill() {
    continuation.yield()
  }

  /// Waits until it has happened often enough; if it must not happen more often, for the whole
  /// time.
  ///
  /// - Throws: ``ExpectationError``, as soon as it has happened too often, or when `timeout` has
  ///   passed and it has not happened often enough.
  func wait(within timeout: Duration, on clock: any Clock<Duration>) async throws {
    // Only this task touches it: the timeout's body is a part of it.
    var happened = 0
    do {
      try await withTimeout(timeout, clock: clock) {
        if count == .atLeast(0) { return }
        for await _ in events {
          happened += 1
          switch count {
          case .atLeast(let count) where happened >= count: return
          case .exactly(let count) where happened > count:
            throw ExpectationError(self, happened: happened)
          default: continue
          }
        }
        try Task.checkCancellation()
      }
    } catch is TimeoutError {
      guard count == .exactly(happened) else { throw ExpectationError(self, happened: happened) }
    }
  }
}

/// Says that something did not happen as often as expected.
struct ExpectationError: Error, Hashable, CustomStringConvertible {
  let expectation: String
  let count: TimedExpectation.Count
  /// How often it did happen.
  let happened: Int

  init(_ expectation: TimedExpectation, happened: Int) {
    self.expectation = expectation.description
    self.count = expectation.count
    self.happened = happened
  }

  var description: String {
    let expected =
      switch count {
      case .atLeast(let count): "at least \(count)"
      case .exactly(let count): "exactly \(count)"
      }
    return "expected '\(expectation)' to happen \(expected) times, and it did \(happened) times"
  }
}

extension TimedExpectation {
  /// Expects a notification to be posted, from now on.
  static func notification(
    _ name: Notification.Name, center: NotificationCenter = .default,
    count: Count = .atLeast(1)
  ) -> (expectation: TimedExpectation, observation: Observation) {
    let expectation = TimedExpectation(name.rawValue, count: count)
    let observer = center.addObserver(forName: name, object: nil, queue: nil) { _ in
      expectation.fulfill()
    }
    return (expectation, Observation(center: center, observer: observer))
  }

  /// Ends with its last reference.
  final class Observation {
    private let center: NotificationCenter
    private let observer: any NSObjectProtocol

    fileprivate init(center: NotificationCenter, observer: any NSObjectProtocol) {
      self.center = center
      self.observer = observer
    }

    deinit { center.removeObserver(observer) }
  }
}
