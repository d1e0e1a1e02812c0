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

  /// What the operation threw after the timeout had cancelled it.
  ///
  /// Often a `CancellationError`, or what a library makes of cancellation, such as
  /// `URLError.cancelled`. `nil` if nobody waited for the operation to end, as with a
  /// `TimeoutTask`.
  public let underlyingError: (any Error)?

  /// Makes an error that says how long was allowed and what was being done, each if known.
  ///
  /// - Parameters:
  ///   - timeout: The time that was allowed.
  ///   - operation: What was being done.
  ///   - underlyingError: What the operation threw.
  public init(
    timeout: Duration? = nil, operation: String? = nil, underlyingError: (any Error)? = nil
  ) {
    self.allowed = timeout
    self.operation = operation
    self.underlyingError = underlyingError
  }

  /// Makes an error for a clock whose durations are not `Swift.Duration`.
  ///
  /// - Parameters:
  ///   - timeout: The time that was allowed.
  ///   - operation: What was being done.
  ///   - underlyingError: What the operation threw.
  public init(
    timeout: some DurationProtocol, operation: String? = nil, underlyingError: (any Error)? = nil
  ) {
    self.allowed = timeout
    self.operation = operation
    self.underlyingError = underlyingError
  }

  /// The time that was allowed, or `nil` if it is unknown or not a `Swift.Duration`.
  public var timeout: Duration? {
    allowed as? Duration
  }

  /// “The operation timed out.”, followed by the time allowed and the operation, when known.
  public var errorDescription: String? {
    var text = "The operation timed out."
    if let allowed { text += " " + sentence(about: allowed) }
    if let operation, !operation.isEmpty { text += " It was: \(operation)." }
    return text
  }

  private func sentence<D: DurationProtocol>(about allowed: D) -> String {
    // How much too late it was is not computed: the shortest duration has no opposite.
    allowed > .zero
      ? "The time allowed was \(allowed)." : "There was no time left when it began."
  }
}

extension TimeoutError: Equatable {
  /// Whether both errors say the same: equal durations of the same type, and the same operation.
  ///
  /// Errors cannot be compared in general, so ``underlyingError`` is not.
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
  /// The same text as ``errorDescription``, and ``underlyingError`` unless it is a mere
  /// `CancellationError`.
  public var description: String {
    let text = errorDescription ?? "The operation timed out."
    guard let underlyingError, !(underlyingError is CancellationError) else { return text }
    return "\(text) It ended with: \(underlyingError)"
  }
}

/// The module's error under a second name.
///
/// Inside the class `TimeoutTask` the name `TimeoutError` means the class's own alias, and the
/// module cannot be named to tell the two apart, because it is called like the class.
public typealias _TimeoutError = TimeoutError
