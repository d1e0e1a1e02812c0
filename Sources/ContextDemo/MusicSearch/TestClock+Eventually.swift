import Clocks

extension TestClock<Duration> {
  /// Moves time from deadline to deadline until `condition` holds, and returns how long that took.
  ///
  /// The condition is asked when every task of the test has run as far as it can, at first without
  /// time having moved, so that the answer is exact.
  ///
  /// - Throws: ``BusyAssertionError`` if it does not hold at any time up to `limit` from now; then
  ///   time has moved by `limit`. And what `condition` throws.
  @discardableResult
  func eventually(
    within limit: Duration, _ condition: () async throws -> Bool
  ) async throws -> Duration {
    let start = now
    let end = start.advanced(by: limit)
    await settle()
    while try await !condition() {
      guard let next = pendingSleeps.first?.deadline, next <= end else {
        await advance(to: end)
        throw BusyAssertionError(kind: .eventually, time: limit)
      }
      await advance(to: next)
    }
    return start.duration(to: now)
  }

  /// Moves time from deadline to deadline, up to `limit` from now, while `condition` does not hold.
  ///
  /// - Throws: ``BusyAssertionError``, with the time at which it did hold; and what `condition`
  ///   throws.
  func never(
    within limit: Duration, _ condition: () async throws -> Bool
  ) async throws {
    do {
      let time = try await eventually(within: limit, condition)
      throw BusyAssertionError(kind: .never, time: time)
    } catch let error as BusyAssertionError where error.kind == .eventually {
      // As it should be.
    }
  }
}

/// Says that a condition did not come to hold, or did.
struct BusyAssertionError: Error, Hashable, CustomStringConvertible {
  enum Kind: Hashable, Sendable {
    /// It should have held at some time.
    case eventually
    /// It should not have held at any time.
    case never
  }

  let kind: Kind
  /// How long it was waited for in vain, or when it held.
  let time: Duration

  var description: String {
    switch kind {
    case .eventually: "the condition did not hold at any time within \(time)"
    case .never: "the condition held after \(time)"
    }
  }
}
