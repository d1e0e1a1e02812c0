extension AsyncSequence {
  /// Returns a sequence of the same elements that limits the time for each.
  ///
  /// The time starts when the loop asks for the next element, so time in the loop's body does not
  /// count. If neither an element nor the end has come in time, ``TimeoutError`` is thrown. After
  /// an error the sequence is at its end.
  ///
  /// ```swift
  /// for try await message in socket.messages.timeout(.seconds(30), name: "wait for a heartbeat") {
  ///   handle(message)
  /// }
  /// ```
  ///
  /// Each element is awaited as by ``withTimeout(_:tolerance:clock:name:operation:)``: the timeout
  /// cancels the request for the element and waits for its end. **If the base sequence ignores
  /// cancellation, the loop waits for it, however long that takes.** An element that arrives late
  /// is returned.
  ///
  /// If the task of the loop is cancelled, the base sequence decides what follows, as without a timeout.
  ///
  /// To limit the time for all elements together, use `withTimeout` around the loop.
  ///
  /// - Parameters:
  ///   - timeout: How long each element may take. With zero or less, elements are requested in a
  ///     cancelled task. Those that arrive nevertheless, such as the buffered elements of an
  ///     `AsyncStream`, are returned. Then ``TimeoutError`` is thrown. A `Swift.Duration` from 2⁶²
  ///     seconds on never passes.
  ///   - tolerance: How much later than its deadline the clock may let the timeout pass.
  ///   - clock: The clock that measures the time.
  ///   - name: The name of the wait, which the error contains.
  /// - Complexity: For each element, the cost of ``withTimeout(_:tolerance:clock:name:operation:)``.
  public func timeout<C: Clock>(
    _ timeout: C.Duration,
    tolerance: C.Duration? = nil,
    clock: C = ContinuousClock(),
    name: String? = nil
  ) -> AsyncTimeoutSequence<Self, C> {
    AsyncTimeoutSequence(
      base: self, timeout: timeout, tolerance: tolerance, clock: clock, name: name)
  }
}

/// A sequence that limits the time for each element of its base sequence.
///
/// `AsyncSequence.timeout(_:tolerance:clock:name:)` creates it, and documents its behavior.
public struct AsyncTimeoutSequence<Base: AsyncSequence, C: Clock>: AsyncSequence {
  /// The elements of the base sequence.
  public typealias Element = Base.Element
  /// Any error: that of the base sequence, of the clock, or ``TimeoutError``.
  public typealias Failure = any Error

  let base: Base
  let timeout: C.Duration
  let tolerance: C.Duration?
  let clock: C
  let name: String?

  /// Returns an iterator. Nothing is requested from the base sequence before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(sequence: self, base: base.makeAsyncIterator())
  }

  /// An iterator that limits the time for each element.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let sequence: AsyncTimeoutSequence
    var base: Base.AsyncIterator
    var isAtEnd = false

    /// Returns the next element, or `nil` at the end.
    ///
    /// - Throws: The error of the base sequence; ``TimeoutError``; or the error of the clock's `sleep`.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Base.Element? {
      if isAtEnd { return nil }
      // `isAtEnd` stays `true` if the next line throws.
      isAtEnd = true
      let element = try await element(isolation: actor)
      isAtEnd = element == nil
      return element
    }

    private mutating func element(
      isolation actor: isolated (any Actor)?
    ) async throws -> Base.Element? {
      let deadline = OperationDeadline.after(
        sequence.timeout, tolerance: sequence.tolerance, on: sequence.clock, name: sequence.name)
      guard let deadline else { return try await elementWithoutTimer(isolation: actor) }
      let element = try await deadline.run { () async throws -> Base.Element? in
        try await base.next(isolation: actor)
      }
      // Many sequences end when their task is cancelled. The deadline, or the clock's failure, caused that end.
      if element == nil, deadline.interruption != nil {
        throw deadline.error(insteadOf: CancellationError())
      }
      return element
    }

    /// Awaits an element if a deadline around the loop passes before the sequence's own or together with it, or if
    /// neither ever passes.
    private mutating func elementWithoutTimer(
      isolation actor: isolated (any Actor)?
    ) async throws -> Base.Element? {
      let start = sequence.clock.now
      let element = try await base.next(isolation: actor)
      // As above: the outer deadline caused this end. If the element's own time is up as well, this is a timeout.
      if element == nil, ActiveDeadline.current?.hasPassed == true,
        start.duration(to: sequence.clock.now) >= sequence.timeout
      {
        throw TimeoutError(
          timeout: sequence.timeout, operation: sequence.name, underlyingError: CancellationError())
      }
      return element
    }
  }
}

extension AsyncTimeoutSequence: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncTimeoutSequence.AsyncIterator: Sendable {}
