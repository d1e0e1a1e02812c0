import Clocks
import ClocksSupport

/// A reader of a sequence. Its functions move virtual time until the expected event arrives.
///
/// ```swift
/// @Test(.virtualTime) func ticks() async {
///   let probe = Probe(ContinuousClock().timer(interval: .seconds(1)).prefix(2))
///   await probe.expectNothing(for: .milliseconds(999))
///   await probe.next(within: .seconds(1))
///   await probe.next(within: .seconds(1))
///   await probe.expectEnd(within: .zero)
/// }
/// ```
///
/// A task of the probe reads the sequence from the beginning and stores the events, so no event is lost
/// between two calls. (A timeout around an iterator's `next()` would lose elements.) The task is cancelled
/// when the probe is freed.
///
/// Time moves from deadline to deadline, as for `TestClock.eventually(within:)`. An event that arrives
/// exactly at a limit is in time. A later event, if another task moves time beyond the limit, stays for the
/// next call. An unexpected event is recorded as a failure of the test, with the time
/// and the pending sleeps. A negative limit is a failure, too, and so is a probe without a clock outside a
/// scope. If the current task is cancelled, a call checks once more, and fails if that does not decide the
/// outcome. A call costs O(k log n) for k of n pending sleeps that wake.
///
/// The model is Turbine, a library for Kotlin flows.
public final class Probe<Element: Sendable>: Sendable {
  /// `nil` if there is no clock.
  private let reader: SequenceReader<Element>?
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// The number of events that calls have taken. Guarded by `lock`.
  nonisolated(unsafe) private var taken = 0

  /// Begins to read. The first element is requested when the current task suspends.
  ///
  /// - Parameters:
  ///   - sequence: The sequence.
  ///   - clock: The clock that is advanced; by default the clock of the current scope of virtual time.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init<Elements: AsyncSequence & SendableMetatype>(
    _ sequence: sending Elements, on clock: TestClock<Duration>? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) where Elements.Element == Element, Elements.AsyncIterator: SendableMetatype {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    reader = clockToMove(clock, for: "Probe(_:on:)", at: callSite).map { SequenceReader(on: $0) }
    reader?.read(sequence, named: "Probe", convert: { $0 })
  }

  /// Expects an element within `limit` from now, and returns it.
  ///
  /// - Returns: The element; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func next(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Element? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await take("an element", within: limit, as: "next(within:)", callSite) {
      if case .value(let value) = $0.event { value } else { nil }
    }
  }

  /// Checks that nothing arrives within `duration` from now: no element, no end and no error.
  ///
  /// By default, the call checks only that every event up to now was taken.
  ///
  /// - Returns: `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectNothing(
    for duration: Duration = .zero,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let reader else { return false }
    let end = reader.end(of: duration)
    let outcome = await reader.clock.follow(
      upTo: duration, isPaced: true, as: "Probe.expectNothing(for:)", at: callSite,
      until: { self.nextEvent(upTo: end) != nil })
    guard outcome != .failed else { return false }
    if let event = nextEvent(upTo: end) {
      let came = Self.description(of: event)
      reader.clock.fail("Expected nothing for \(duration), but \(came).", at: callSite)
      return false
    }
    if outcome == .cancelled {
      reader.clock.fail(
        "Probe.expectNothing(for:) was cancelled, and what comes later is not known.", at: callSite)
    }
    return outcome == .limitReached
  }

  /// Checks that the sequence ends within `limit` from now, without an error or another element.
  ///
  /// - Returns: The time from the probe's creation to the end; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectEnd(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Duration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await take("the end", within: limit, as: "expectEnd(within:)", callSite) {
      if case .end = $0.event { $0.time } else { nil }
    }
  }

  /// Expects that the sequence throws an error within `limit` from now, without another element, and returns it.
  ///
  /// - Returns: The error; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectError(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> (any Error)? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await take("an error", within: limit, as: "expectError(within:)", callSite) {
      if case .error(let error) = $0.event { error } else { nil }
    }
  }

  /// Cancels the task that reads, and checks that every event was taken.
  ///
  /// Call it at the end of a test. Time does not move. An event is taken when a call that expects an event has
  /// returned or reported it. The end of the sequence, and an error that follows the cancellation, need not be
  /// taken.
  ///
  /// - Returns: `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func finish(
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let reader else { return false }
    await reader.clock.settle(fileID: fileID, filePath: filePath, line: line, column: column)
    reader.cancel()
    await reader.clock.settle(fileID: fileID, filePath: filePath, line: line, column: column)
    let events = reader.events
    // `cancel()` may have been called long before.
    let before = reader.countAtCancellation ?? 0
    let left = events.indices.dropFirst(lock.withLock { taken }).filter { index in
      switch events[index].event {
      case .value: true
      case .end: false
      case .error: index < before
      }
    }
    lock.withLock { taken = events.count }
    guard !left.isEmpty else { return true }
    let lines = left.map { "  - " + Self.description(of: events[$0]) }
    reader.clock.fail(
      "Expected that every event was taken, but \(lines.count) \(lines.count == 1 ? "was" : "were") left:\n"
        + lines.joined(separator: "\n"), at: callSite)
    return false
  }

  /// Cancels the task that reads. The events that follow can be expected as usual. O(1).
  public func cancel() { reader?.cancel() }

  /// Returns the first event that no call has taken; `nil` if there is none up to `end`.
  private func nextEvent(upTo end: Duration) -> SequenceReader<Element>.TimedEvent? {
    guard let events = reader?.events else { return nil }
    let number = lock.withLock { taken }
    return number < events.count && events[number].time <= end ? events[number] : nil
  }

  /// Takes the next event, and expects that it is the one for which `match` returns a value.
  private nonisolated(nonsending) func take<Result>(
    _ expected: String, within limit: Duration, as name: String, _ callSite: CallSite,
    _ match: (SequenceReader<Element>.TimedEvent) -> Result?
  ) async -> Result? {
    guard let reader else { return nil }
    let name = "Probe.\(name)"
    let end = reader.end(of: limit)
    let outcome = await reader.clock.follow(
      upTo: limit, isPaced: true, as: name, at: callSite,
      until: { self.nextEvent(upTo: end) != nil })
    guard outcome != .failed else { return nil }
    let events = reader.events
    let (number, isInTime) = lock.withLock {
      let isInTime = taken < events.count && events[taken].time <= end
      defer { if isInTime { taken += 1 } }
      return (taken, isInTime)
    }
    guard isInTime else {
      // If there is a further event, it came after the limit.
      if number >= events.count, let before = events.last.flatMap(Self.description(ofEnd:)) {
        reader.clock.fail("Expected \(expected) within \(limit), but \(before).", at: callSite)
        return nil
      }
      reader.clock.fail(
        outcome == .cancelled
          ? "\(name) was cancelled before \(expected) came."
          : "Expected \(expected) within \(limit), but nothing came.",
        isTimeout: outcome == .limitReached, at: callSite)
      return nil
    }
    let event = events[number]
    if let result = match(event) { return result }
    let came = Self.description(of: event)
    reader.clock.fail("Expected \(expected) within \(limit), but \(came).", at: callSite)
    return nil
  }

  /// The end of the sequence, which a call before this one took; `nil` if the event is not the end.
  private static func description(ofEnd event: SequenceReader<Element>.TimedEvent) -> String? {
    let time = "before, \(event.time) after the probe was made"
    return switch event.event {
    case .value: nil
    case .end: "the sequence had ended \(time)"
    case .error(let error): "the sequence had thrown \(error) \(time)"
    }
  }

  private static func description(of event: SequenceReader<Element>.TimedEvent) -> String {
    let time = "\(event.time) after the probe was made"
    return switch event.event {
    case .value(let value): "\(value) came \(time)"
    case .end: "the sequence ended \(time)"
    case .error(let error): "it threw \(error) \(time)"
    }
  }
}

extension Probe where Element: Equatable {
  /// Expects that the next event is an element equal to `element`, within `limit` from now.
  ///
  /// The failure shows what came instead.
  ///
  /// ```swift
  /// let probe = Probe(searches.debounce(for: .seconds(1), clock: clock))
  /// await probe.expectNext("swift", within: .seconds(1))
  /// ```
  ///
  /// - Returns: `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectNext(
    _ element: Element, within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    return await take("\(element)", within: limit, as: "expectNext(_:within:)", callSite) {
      if case .value(element) = $0.event { true } else { nil }
    } ?? false
  }
}
