import Clocks
import Foundation
import Testing
import TimeoutTask

// On Linux, cancelling a request that a `URLProtocol` serves can hang or crash in Foundation (Swift 6.3). There,
// `WithDeadlineTests` has the same rules for other errors.
#if canImport(Darwin)
  /// `URLSession` has its own error for a cancellation. A timeout is thrown as `TimeoutError` anyway.
  @Suite final class URLSessionTests: Sendable {
    /// A server that never answers.
    private final class SilentProtocol: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { true }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func startLoading() {}
      override func stopLoading() {}
    }

    private let session: URLSession = {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [SilentProtocol.self]
      return URLSession(configuration: configuration)
    }()
    private let url = URL(string: "http://silent.test/")!

    deinit { session.finishTasksAndInvalidate() }

    private func isTimeout(_ error: TimeoutError?, of timeout: Duration) -> Bool {
      error == TimeoutError(timeout: timeout, operation: "load")
        && (error?.underlyingError as? URLError)?.code == .cancelled
    }

    @Test func withTimeoutThrowsATimeoutErrorThatContainsTheSessionsError() async {
      for _ in 0..<2 {
        let error = await #expect(throws: TimeoutError.self) {
          try await withTimeout(.milliseconds(30), name: "load") {
            _ = try await session.data(from: url)
          }
        }
        #expect(isTimeout(error, of: .milliseconds(30)), "\(String(describing: error))")
      }
    }

    @Test func theSameIsTrueOnATestClock() async throws {
      let clock = TestClock()
      let task = Task {
        try await withTimeout(.seconds(30), clock: clock, name: "load") {
          _ = try await session.data(from: url)
        }
      }
      await clock.advance(by: .seconds(30))
      let error = await #expect(throws: TimeoutError.self) { try await task.value }
      #expect(isTimeout(error, of: .seconds(30)), "\(String(describing: error))")
    }

    @Test func aTimeoutTaskThrowsATimeoutError() async {
      for _ in 0..<2 {
        let task = TimeoutTask(timeout: .milliseconds(30), name: "load") { [session, url] in
          try await session.data(from: url).0
        }
        await #expect(throws: TimeoutError(timeout: .milliseconds(30), operation: "load")) {
          try await task.value
        }
      }
    }

    /// A request that is cancelled before the timeout has not timed out.
    @Test func aCancelledCallerGetsTheSessionsOwnError() async {
      let clock = TestClock()
      let task = Task {
        try await withTimeout(.seconds(30), clock: clock) { _ = try await session.data(from: url) }
      }
      await clock.settle()
      task.cancel()
      let error = await #expect(throws: URLError.self) { try await task.value }
      #expect(error?.code == .cancelled)
    }
  }
#endif
