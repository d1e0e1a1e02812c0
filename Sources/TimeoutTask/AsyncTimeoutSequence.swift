extension AsyncSequence {
  /// Returns a sequence of the same elements that limits the time for each.
  ///
  /// The time starts when the loop asks for the next element, so the loop's body does not count. If
  /// neither an element nor the end has come in time, ``TimeoutError`` is thrown. After an error
  /// the sequence is at its end.
  ///
  /// ```swift
  /// for try await message in socket.messages.timeout(.seconds(30), name: "wait for a heartbeat") {
  ///   handle(message)
  /// }
  /// ```
  ///
  /// Each element is awaited as by ``withTimeout(_:tolerance:clock:name:operation:)``: the timeout
  /// cancels the base sequence and waits for it. **A sequence that ignores cancellation is waited
  /// for, however long it takes.** An element that it returns late is returned.
  ///
  /// To limit the time for all elements together, use `withTimeout` around the loop.
  ///
  /// - Parameters:
  ///   - timeout: How long each element may take. With zero or less the base sequence is asked in a
  ///     cancelled task: what it returns nevertheless, such as the buffered elements of an
  ///     `AsyncStream`, is delivered, and then ``TimeoutError`` is thrown. A `Swift.Duration` from 2⁶² seconds on never passes.
  ///   - tolerance: How much later than its deadline the clock may let the timeout pass.
  ///   - clock: The clock that measures.
  ///   - name: The name of the wait, which the error contains.
  /// - Complexity: For each element that of ``withTimeout(_:tolerance:clock:name:operation:)``.
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
/// `AsyncSequence.timeout(_:tolerance:clock:name:)` makes it and has the rules.
public struct AsyncTimeoutSequence<Base: AsyncSequence, C: Clock>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = any Error

  let base: Base
  let timeout: C.Duration
  let tolerance: C.Duration?
  let clock: C
  let name: String?

  /// Returns an iterator. The base sequence is first asked when the first element is.
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
    /// - Throws: The error of the base sequence, or ``TimeoutError``.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Base.Element? {
      if isAtEnd { return nil }
      // Stays so if the next line throws.
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
      guard let deadline else { return try await base.next(isolation: actor) }
      var base = base
      defer { self.base = base }
      let element = try await deadline.run { () async throws -> Base.Element? in
        try await base.next(isolation: actor)
      }
      // Many sequences end when their task is cancelled. The deadline caused that end.
      if element == nil, case .deadlinePassed = deadline.interruption {
        throw deadline.error(insteadOf: CancellationError())
      }
      return element
    }
  }
}

extension AsyncTimeoutSequence: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncTimeoutSequence.AsyncIterator: Sendable {}
