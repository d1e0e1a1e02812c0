import Clocks
import ClocksSupport

/// Checks that a sequence does what a diagram shows: which values arrive when, and how the sequence ends.
///
/// ```swift
/// @Test(.virtualTime) func debounces() async {
///   let searches = keys.debounce(for: .seconds(2))
///   await expectTimeline(of: searches, "---a--(b|)", every: .seconds(1))
/// }
/// ```
///
/// Each sign is one step, which takes `step` of virtual time. The first step is now.
///
/// | sign | at this step |
/// |---|---|
/// | `-` | nothing happens |
/// | `a` | a value arrives: the one in `values`; without `values`, a value with this description |
/// | `'text'` | a value with this description arrives, whether it is in `values` or not |
/// | `(ab)` | both values arrive, in this order; a group is one step |
/// | `\|` | the sequence ends |
/// | `#` | the sequence throws an error |
/// | `!` | the task that reads is cancelled, and the sequence ends or throws immediately; `(!\|)` and `(!#)` require one of the two. The cancellation precedes what the sequence would do at this step; in `(a!)` it follows the value |
/// | space | nothing; spaces align diagrams |
///
/// Under `.schedules`, another sleep that is due at the step of `!` may wake before the cancellation.
///
/// The check is exact: an event between two steps, a missing event and an additional event are failures. If
/// the diagram does not show an end, the sequence must not end, and its reader is cancelled after the last
/// step. Time moves exactly from the first step to the last, from deadline to deadline, as for
/// `TestClock.eventually(within:)`.
///
/// A failure shows the expected diagram above the actual one, and the first difference. If a diagram has a
/// mistake, nothing is read, and the failure at the caller's line has a caret below the mistake. A step that
/// is not positive, or so long that the clock's range ends before the diagram, and a call without a clock
/// outside a scope, are failures, too. If the current task is cancelled, the call fails and returns.
///
/// The notation follows marble diagrams in RxJS, except that a group is one step, as in the validation diagrams of
/// swift-async-algorithms. O(events + k log n) for k of n pending sleeps that wake.
///
/// - Parameters:
///   - sequence: The sequence. A new task reads it from now on.
///   - diagram: The expected events.
///   - step: The length of a step.
///   - values: The values that the characters of the diagram stand for.
///   - isExpected: Returns whether an error is the expected one; any error is by default.
///   - clock: The clock that is advanced; by default the clock of the current scope of virtual time.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
/// - Returns: Whether the sequence did what the diagram shows.
@discardableResult
public nonisolated(nonsending) func expectTimeline<Elements: AsyncSequence & SendableMetatype>(
  of sequence: sending Elements, _ diagram: String, every step: Duration = .seconds(1),
  values: [Character: Elements.Element], error isExpected: (any Error) -> Bool = { _ in true },
  on clock: TestClock<Duration>? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column
) async -> Bool
where Elements.Element: Equatable & Sendable, Elements.AsyncIterator: SendableMetatype {
  let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  let known = values.sorted { $0.key < $1.key }
  // If several characters have the same value, the first one stands for it.
  let symbol: @Sendable (Elements.Element) -> Diagram.Symbol = { value in
    let description = String(describing: value)
    if let sign = known.first(where: { $0.value == value })?.key {
      return Diagram.Symbol.known(sign, description: description)
    }
    let isSign = description.count == 1 && values[Character(description)] != nil
    return Diagram.Symbol.value(description, isQuoted: isSign)
  }
  let expectation = TimelineExpectation(
    diagram: diagram, step: step, clock: clock, callSite: callSite,
    value: { sign in values[sign].map(symbol) })
  return await expectation.check(sequence, isExpected, symbol)
}

/// Checks that a sequence does what a diagram shows. Values appear in it as their descriptions.
///
/// See `expectTimeline(of:_:every:values:error:on:)`.
@discardableResult
public nonisolated(nonsending) func expectTimeline<Elements: AsyncSequence & SendableMetatype>(
  of sequence: sending Elements, _ diagram: String, every step: Duration = .seconds(1),
  error isExpected: (any Error) -> Bool = { _ in true }, on clock: TestClock<Duration>? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath,
  line: UInt = #line, column: UInt = #column
) async -> Bool where Elements.AsyncIterator: SendableMetatype {
  let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
  let expectation = TimelineExpectation(
    diagram: diagram, step: step, clock: clock, callSite: callSite,
    value: { Diagram.Symbol.value(String($0)) })
  return await expectation.check(sequence, isExpected) { value in
    Diagram.Symbol.value(String(describing: value))
  }
}

private struct TimelineExpectation {
  let diagram: String
  let step: Duration
  let clock: TestClock<Duration>?
  let callSite: CallSite
  /// Returns the symbol of the value that a sign stands for. Equal values have one symbol.
  let value: (Character) -> Diagram.Symbol?

  private static let name = "expectTimeline(of:_:every:)"

  nonisolated(nonsending) func check<Elements: AsyncSequence & SendableMetatype>(
    _ sequence: sending Elements, _ isExpected: (any Error) -> Bool,
    _ symbol: sending @escaping (Elements.Element) -> Diagram.Symbol
  ) async -> Bool where Elements.AsyncIterator: SendableMetatype {
    guard let clock = clockToMove(clock, for: Self.name, at: callSite) else { return false }
    guard step > .zero else {
      fail("\(Self.name) expects a positive step, but got \(step). Nothing was read.")
      return false
    }
    let parsed: Diagram
    do {
      parsed = try Diagram(diagram, value: value)
    } catch {
      fail("\(Self.name) does not understand the diagram: \(error)")
      return false
    }
    guard endsInRange(parsed, clock) else {
      fail(
        """
        \(Self.name) expects a diagram within the clock's range of time, but got \(parsed.steps.count - 1) steps \
        of \(step) from \(clock.now) on. Nothing was read. Pass a shorter step.
        """)
      return false
    }
    let reader = SequenceReader<Diagram.Symbol>(on: clock)
    // The timer wakes before all sleeps with the same deadline, because it begins to sleep before the reader begins.
    let timer = parsed.earlyCancellation.map { number in
      let instant = clock.now + step * number
      return Task(name: "expectTimeline cancels") {
        if (try? await clock.sleep(until: instant)) != nil { reader.cancel() }
      }
    }
    reader.read(sequence, named: "expectTimeline", convert: symbol)
    defer {
      timer?.cancel()
      reader.close()
    }
    guard await read(reader, parsed, clock) else { return false }
    let events = events(
      reader, parsed, isExpected, before: timer == nil ? nil : reader.countAtCancellation)
    guard let difference = DiagramDifference(parsed, events, every: step) else { return true }
    clock.fail(
      "The sequence does not do what the diagram says: \(difference.first).\n"
        + difference.lines.joined(separator: "\n"), at: callSite)
    return false
  }

  /// Whether the clock has an instant for the last step.
  private func endsInRange(_ parsed: Diagram, _ clock: TestClock<Duration>) -> Bool {
    let (length, isTooLong) = step.attoseconds.multipliedReportingOverflow(
      by: Int128(parsed.steps.count - 1))
    return !isTooLong && !clock.now.offset.attoseconds.addingReportingOverflow(length).overflow
  }

  /// Moves time to the end of the diagram. Returns whether that was possible.
  private nonisolated(nonsending) func read(
    _ reader: SequenceReader<Diagram.Symbol>, _ parsed: Diagram, _ clock: TestClock<Duration>
  ) async -> Bool {
    var rest = step * (parsed.steps.count - 1)
    if let cancellation = parsed.cancellation {
      guard await follow(clock, step * cancellation) else { return false }
      rest -= step * cancellation
      if parsed.earlyCancellation == nil { reader.cancel() }
    }
    return await follow(clock, rest)
  }

  private nonisolated(nonsending) func follow(
    _ clock: TestClock<Duration>, _ duration: Duration
  ) async -> Bool {
    switch await clock.follow(
      upTo: duration, isPaced: true, as: Self.name, at: callSite, until: { false })
    {
    case .limitReached, .holds: return true
    case .failed: return false
    case .cancelled:
      clock.fail("\(Self.name) was cancelled, and what comes later is not known.", at: callSite)
      return false
    }
  }

  /// Returns the events that were read, as symbols, with the cancellation among them.
  ///
  /// - Parameter countAtCancellation: The number of events before an early cancellation.
  private func events(
    _ reader: SequenceReader<Diagram.Symbol>, _ parsed: Diagram,
    _ isExpected: (any Error) -> Bool,
    before countAtCancellation: Int?
  ) -> [DiagramDifference.Event] {
    let cancelled = parsed.cancellation.map { step * $0 }
    let last = step * (parsed.steps.count - 1)
    // Another task may have moved time beyond the last step.
    var events = reader.events.prefix { $0.time <= last }.map { time, event in
      let symbol: Diagram.Symbol =
        switch event {
        case .value(let symbol): symbol
        case .end: .end
        case .error(let error):
          .error(
            isExpected: isExpected(error) || (time == cancelled && error is CancellationError),
            "\(error)")
        }
      return DiagramDifference.Event(time: time, symbol: symbol)
    }
    guard let cancelled else { return events }
    // At the instant of the cancellation, values precede the cancellation, unless it was an early one. The end of the
    // sequence follows the cancellation.
    let place =
      countAtCancellation.map { min($0, events.count) }
      ?? events.prefix { event in
        event.symbol.isValue ? event.time <= cancelled : event.time < cancelled
      }.count
    if parsed.saysEndAfterCancellation {
      events.insert(.init(time: cancelled, symbol: .cancellation), at: place)
    } else if place < events.count, events[place].time == cancelled, !events[place].symbol.isValue {
      events[place].symbol = .cancellation
    } else {
      events.insert(.init(time: cancelled, symbol: .ignoredCancellation), at: place)
    }
    return events
  }

  private func fail(_ message: String) { recordFailure(message, at: callSite) }
}
