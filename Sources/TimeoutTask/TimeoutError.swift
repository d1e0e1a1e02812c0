#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The error of an operation that did not end in the time allowed.
///
/// It contains the time allowed and the name of the operation, if they are known. Two errors with
/// equal contents are equal, so that a test can state the error that it expects:
///
/// ```swift
/// await #expect(throws: TimeoutError(timeout: .seconds(3), operation: "load the feed")) {
///   try await withTimeout(.seconds(3), clock: clock, name: "load the feed") { … }
/// }
/// ```
public struct TimeoutError: LocalizedError {
  /// The time allowed, in the duration of the clock that measured it; `nil` if it is unknown.
  public let allowed: (any DurationProtocol)?

  /// The name of the operation, as passed to the function or initializer that set the timeout.
  public let operation: String?

  /// The error that the operation threw after the timeout had cancelled it.
  ///
  /// This is often a `CancellationError`, or a library's own error for a cancellation, such as
  /// `URLError.cancelled`. A `TimeoutTask` does not wait for the operation to end, so it sets
  /// `nil`.
  public let underlyingError: (any Error)?

  /// How long after its deadline the operation threw, if that is clearly longer than it takes to be cancelled.
  private var overrun: (any DurationProtocol)?

  /// Creates an error with the time allowed and the name of the operation, if known.
  ///
  /// - Parameters:
  ///   - timeout: The time allowed.
  ///   - operation: The name of the operation.
  ///   - underlyingError: The error that the operation threw.
  public init(
    timeout: Duration? = nil, operation: String? = nil, underlyingError: (any Error)? = nil
  ) {
    self.allowed = timeout
    self.operation = operation
    self.underlyingError = underlyingError
  }

  /// Creates an error for a clock whose durations are not `Swift.Duration`.
  ///
  /// - Parameters:
  ///   - timeout: The time allowed.
  ///   - operation: The name of the operation.
  ///   - underlyingError: The error that the operation threw.
  public init(
    timeout: some DurationProtocol, operation: String? = nil, underlyingError: (any Error)? = nil
  ) {
    self.allowed = timeout
    self.operation = operation
    self.underlyingError = underlyingError
  }

  /// Returns the error, with the time for which the operation continued after its deadline.
  ///
  /// An overrun of up to a tenth of the time allowed is left out: in real time, no operation ends exactly at its
  /// deadline.
  func goingOn<D: DurationProtocol>(for overrun: D, allowed: D) -> Self {
    guard allowed > .zero, overrun > allowed / 10 else { return self }
    var error = self
    error.overrun = overrun
    return error
  }

  /// The time allowed, or `nil` if it is unknown or not a `Swift.Duration`.
  public var timeout: Duration? {
    allowed as? Duration
  }

  /// “The operation timed out.”, followed by the time allowed and the operation, if known.
  public var errorDescription: String? {
    var text = "The operation timed out."
    if let allowed { text += " " + sentence(about: allowed) }
    if let operation, !operation.isEmpty { text += " It was: \(operation)." }
    return text
  }

  private func sentence<D: DurationProtocol>(about allowed: D) -> String {
    // The text does not say how late the operation began: to negate the least duration would overflow. An operation
    // with a movable deadline may have begun in time.
    allowed > .zero
      ? "The time allowed was \(allowed.exactDescription)." : "There was no time left."
  }
}

extension TimeoutError: Equatable {
  /// Returns whether both errors have equal durations of the same type, and the same operation.
  ///
  /// ``underlyingError`` is not compared, because errors need not be `Equatable`. Neither is how long the operation
  /// continued after its deadline.
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
  /// The text of ``errorDescription``, followed by ``underlyingError``.
  ///
  /// A `CancellationError` is left out. If the operation ignored its cancellation and threw long after its deadline,
  /// the text says how long.
  public var description: String {
    var text = errorDescription ?? "The operation timed out."
    if let overrun { text += " It went on for \(overrun.exactDescription) after its deadline." }
    guard let underlyingError, !(underlyingError is CancellationError) else { return text }
    return "\(text) It ended with: \(underlyingError)"
  }
}

/// The name by which the class `TimeoutTask` refers to the module's error.
///
/// The class has an alias `TimeoutError`. In the class, that name means the alias, and so does
/// `TimeoutTask.TimeoutError`, because the module and the class have the same name.
public typealias _TimeoutError = TimeoutError
