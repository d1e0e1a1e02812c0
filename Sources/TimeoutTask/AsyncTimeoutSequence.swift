extension AsyncSequence {
  /// The same elements, with a limit to the time that each may take.
  ///
  /// The time counts from the moment in which the loop asks for the next element: what the loop's
  /// body takes does not count. If no element has come, and the sequence has not ended, when the
  /// time is over, ``TimeoutError`` is thrown; after that, as after any error, the sequence is at
  /// its end.
  ///
  /// ```swift
  /// for try await message in socket.messages.timeout(.seconds(30), name: "wait for a heartbeat") {
  ///   handle(message)
  /// }
  /// ```
  ///
  /// Each element is awaited as by ``withTimeout(_:tolerance:clock:name:operation:)``: the sequence
  /// is cancelled when the time is over, and waited for. That is its trap as well: **a sequence
  /// that ignores cancellation is waited for, however long it takes.** An element that it has to
  /// give nevertheless is given.
  ///
  /// A limit for all elements together is a `withTimeout` around the loop.
  ///
  /// - Parameters:
  ///   - timeout: How long each element may take. Zero or less lets the sequence be asked in a task
  ///     that is cancelled. A `Swift.Duration` from 2⁶² seconds on means for ever.
  ///   - tolerance: How much later than its deadline the clock may let the timeout pass.
  ///   - clock: The clock that measures.
  ///   - name: What is being waited for; a part of the error.
  /// - Complexity: O(1) for each element: a task group, two tasks, and the clock's cost of a sleep.
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

/// A sequence with a limit to the time that each element may take.
///
/// Made by `AsyncSequence.timeout(_:tolerance:clock:name:)`, which see.
public struct AsyncTimeoutSequence<Base: AsyncSequence, C: Clock>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = any Error

  let base: Base
  let timeout: C.Duration
  let tolerance: C.Duration?
  let clock: C
  let name: String?

  /// Begins to go through the elements. The base begins when the first element is asked for.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(sequence: self, base: base.makeAsyncIterator())
  }

  /// Goes through the elements.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let sequence: AsyncTimeoutSequence
    var base: Base.AsyncIterator
    var isAtEnd = false

    /// The next element, or `nil` at the end.
    ///
    /// - Throws: What the base throws, or ``TimeoutError``.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Base.Element? {
      if isAtEnd { return nil }
      // An error is the end, too.
      isAtEnd = true
      let element = try await element(isolation: actor)
      isAtEnd = element == nil
      return element
    }

    private mutating func element(
      isolation actor: isolated (any Actor)?
    ) async throws -> Base.Element? {
      let timeout = sequence.timeout
      if timeout.isForEver { return try await base.next(isolation: actor) }
      let limit = TimeLimit(
        timeout: timeout, tolerance: sequence.tolerance, clock: sequence.clock,
        name: sequence.name)
      guard let deadline = limit.deadline else { return try await base.next(isolation: actor) }
      var base = base
      defer { self.base = base }
      let place = UnsafeMutablePointer<Base.Element?>.allocate(capacity: 1)
      defer { place.deallocate() }
      let error = await deadline.run(into: place) { () async throws -> Base.Element? in
        try await base.next(isolation: #isolation)
      }
      if let error { throw deadline.interruption.error(insteadOf: error, limit) }
      let element = place.move()
      // Many sequences end when their task is cancelled. That end is ours and not theirs.
      if element == nil, case .deadlinePassed = deadline.interruption {
        throw deadline.interruption.error(insteadOf: CancellationError(), limit)
      }
      return element
    }
  }
}

extension AsyncTimeoutSequence: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncTimeoutSequence.AsyncIterator: Sendable {}
