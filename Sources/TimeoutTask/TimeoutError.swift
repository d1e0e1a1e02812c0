#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The error of work that did not complete in the time allowed to it.
///
/// It says how long was allowed and, when that is known, what was being done. Two errors that say
/// the same are equal, so that a test can name the very error it expects:
///
/// ```swift
/// await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "load the feed")) {
///   try await withTimeout(.seconds(3), clock: clock, name: "load the feed") { … }
/// }
/// ```
public struct TimeoutError: LocalizedError {
  /// The time that was allowed, in the duration of the clock that measured it.
  ///
  /// `nil` when the error was made without one.
  public let allowed: (any DurationProtocol)?

  /// What was being done, in the words of whoever set the timeout.
  public let operation: String?

  /// Makes an error that says how long was allowed and what was being done, each if known.
  public init(timeout: Duration? = nil, operation: String? = nil) {
    self.allowed = timeout
    self.operation = operation
  }

  /// Makes an error for a clock whose durations are not `Swift.Duration`.
  public init(timeout: some DurationProtocol, operation: String? = nil) {
    self.allowed = timeout
    self.operation = operation
  }

  /// The time that was allowed, or `nil` if it is unknown or not a `Swift.Duration`.
  public var timeout: Duration? {
    allowed as? Duration
  }

  /// “The operation timed out.”, followed by the time allowed and the operation, when known.
  public var errorDescription: String? {
    switch (allowed, operation) {
    case (nil, nil):
      "The operation timed out."
    case (let allowed?, nil):
      "The operation timed out. The time allowed was \(allowed)."
    case (nil, let operation?):
      "The operation timed out. It was: \(operation)."
    case (let allowed?, let operation?):
      "The operation timed out. The time allowed was \(allowed). It was: \(operation)."
    }
  }
}

extension TimeoutError: Equatable {
  /// Whether both errors say the same: equal durations of the same type, and the same operation.
  public static func == (lhs: TimeoutError, rhs: TimeoutError) -> Bool {
    guard lhs.operation == rhs.operation else { return false }
    switch (lhs.allowed, rhs.allowed) {
    case (nil, nil): return true
    case (let lhs?, let rhs?): return isEqual(lhs, rhs)
    default: return false
    }
  }

  private static func isEqual<D: DurationProtocol>(_ lhs: D, _ rhs: any DurationProtocol) -> Bool {
    lhs == rhs as? D
  }
}

extension TimeoutError: CustomStringConvertible {
  /// The same text as ``errorDescription``.
  public var description: String {
    errorDescription ?? "The operation timed out."
  }
}

/// The module's error under a second name.
///
/// Inside the class `TimeoutTask` the name `TimeoutError` means the class's own alias, and the
/// module cannot be named to tell the two apart, because it is called like the class.
public typealias _TimeoutError = TimeoutError
