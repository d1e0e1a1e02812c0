import Clocks
import ClocksSupport
import Synchronization

/// Reads a sequence step by step, and moves time to what it expects next.
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
/// The sequence is read by a task of its own from the beginning, and what comes is kept until it is asked
/// for: nothing is lost between two calls, as it would be with an iterator whose `next()` has a timeout.
/// When the probe goes, that task is cancelled.
///
/// Time moves from deadline to deadline as for
/// `TestClock.eventually(within:)`, and what comes at a limit itself is
/// in time. What is not as expected is recorded as a failure of the test, with the time and the pending
/// sleeps; so are a negative limit, and a probe outside of a scope without a clock. On cancellation a call
/// looks once more, and if that is not decisive, it is a failure, too. A call costs O(k log n) for k of n
/// pending sleeps that wake.
///
/// The idea is that of Turbine, for Kotlin's flows.
public final class Probe<Element: Sendable>: Sendable {
  private let reader: SequenceReader<Element>?
  private let clock: TestClock<Duration>?
  /// The number of events that have been asked for.
  private let taken = Mutex(0)

  /// Begins to read; the first element is asked for when the current task lets others run.
  ///
  /// - Parameters:
  ///   - sequence: What is read.
  ///   - clock: The clock to be moved; the one of the current scope of virtual time by default.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init<Elements: AsyncSequence & SendableMetatype>(
    _ sequence: sending Elements, on clock: TestClock<Duration>? = nil,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) where Elements.Element == Element, Elements.AsyncIterator: SendableMetatype {
    let clock = clock ?? VirtualTime.current?.clock
    self.clock = clock
    if let clock {
      reader = SequenceReader(sequence, on: clock, named: "Probe", convert: { $0 })
      return
    }
    reader = nil
    recordFailure(
      """
      Probe(_:on:) expects to be made in a scope of virtual time, or to be given a clock.
      Write @Test(.virtualTime), or on: clock.
      """, at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }

  // MARK: - What is expected

  /// Expects the next element to come by `limit` from now, and returns it.
  ///
  /// - Returns: The element; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func next(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Element? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let event = await event(within: limit, expecting: "an element", "next", callSite) else {
      return nil
    }
    if case .value(let value) = event.event { return value }
    unexpected(event, instead: "an element within \(limit)", callSite)
    return nil
  }

  /// Expects that nothing comes up to `duration` from now: no element, no end and no error.
  ///
  /// - Returns: Whether nothing came; `false` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectNothing(
    for duration: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let clock, let reader else { return false }
    let outcome = await clock.follow(
      upTo: duration, isPaced: true, as: "Probe.expectNothing(for:)", at: callSite,
      until: { self.hasEvent })
    guard !hasEvent else {
      let event = reader.events[taken.withLock { $0 }]
      unexpected(event, instead: "nothing for \(duration)", callSite)
      return false
    }
    if outcome == .cancelled {
      clock.fail(
        "Probe.expectNothing(for:) was cancelled, and what comes later is not known.", at: callSite)
    }
    return outcome == .limitReached
  }

  /// Expects the sequence to end by `limit` from now, without an error and without another element.
  ///
  /// - Returns: How much time has passed since the probe was made; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectEnd(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> Duration? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard
      let event = await event(within: limit, expecting: "the end", "expectEnd", callSite)
    else { return nil }
    if case .end = event.event { return event.time }
    unexpected(event, instead: "the end within \(limit)", callSite)
    return nil
  }

  /// Expects the sequence to throw an error by `limit` from now, without another element, and returns it.
  ///
  /// - Returns: The error; `nil` if a failure was recorded.
  @discardableResult
  public nonisolated(nonsending) func expectError(
    within limit: Duration,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async -> (any Error)? {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard
      let event = await event(within: limit, expecting: "an error", "expectError", callSite)
    else { return nil }
    if case .error(let error) = event.event { return error }
    unexpected(event, instead: "an error within \(limit)", callSite)
    return nil
  }

  /// Cancels the task that reads. What it then does can be expected as anything else. O(1).
  public func cancel() { reader?.cancel() }

  // MARK: - How

  private var hasEvent: Bool {
    guard let reader else { return false }
    return reader.count > taken.withLock { $0 }
  }

  private nonisolated(nonsending) func event(
    within limit: Duration, expecting what: String, _ name: String, _ callSite: CallSite
  ) async -> (time: Duration, event: SequenceReader<Element>.Event)? {
    guard let clock, let reader else { return nil }
    let name = "Probe.\(name)(within:)"
    let outcome = await clock.follow(
      upTo: limit, isPaced: true, as: name, at: callSite, until: { self.hasEvent })
    let number = taken.withLock { number in
      defer { if reader.count > number { number += 1 } }
      return number
    }
    if reader.count > number, outcome != .failed { return reader.events[number] }
    switch outcome {
    case .holds, .failed: break
    case .limitReached:
      clock.fail("Expected \(what) within \(limit), but nothing came.", at: callSite)
    case .cancelled:
      clock.fail("\(name) was cancelled before \(what) came.", at: callSite)
    }
    return nil
  }

  private func unexpected(
    _ event: (time: Duration, event: SequenceReader<Element>.Event), instead expected: String,
    _ callSite: CallSite
  ) {
    let time = "\(event.time) after the probe was made"
    let what =
      switch event.event {
      case .value(let value): "\(value) came \(time)"
      case .end: "the sequence ended \(time)"
      case .error(let error): "it threw \(error) \(time)"
      }
    clock?.fail("Expected \(expected), but \(what).", at: callSite)
  }
}
