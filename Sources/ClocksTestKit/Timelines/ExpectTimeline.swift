import Clocks
import ClocksSupport

/// Expects of a sequence what a diagram shows: which values come when, and how it ends.
///
/// ```swift
/// @Test(.virtualTime) func debounces() async {
///   let searches = keys.debounce(for: .seconds(2))
///   await expectTimeline(of: searches, "---a--(b|)", every: .seconds(1))
/// }
/// ```
///
/// Each sign is a step, and stands for `step` of virtual time; the first one is now.
///
/// | sign | at this step |
/// |---|---|
/// | `-` | nothing comes |
/// | `a` | a value comes: that of `values`, or the one whose description this is |
/// | `'text'` | the value comes whose description this is |
/// | `(ab)` | both come, in this order; a group is one step |
/// | `\|` | the sequence ends |
/// | `#` | it throws an error |
/// | `!` | whoever reads it is cancelled, and then it ends at once, in whichever way; `(!#)` and `(!\|)` say in which |
/// | space | nothing: for diagrams that stand below each other |
///
/// It is exact: whatever comes between two steps, or more or less than is shown, is a failure. A diagram
/// without an end expects the sequence to be under way at its last step; then it is cancelled. Time moves
/// by exactly the diagram's length, from deadline to deadline, as for
/// `TestClock.eventually(within:)`.
///
/// A failure shows both diagrams below each other, and the first difference. A diagram that is not
/// understood is a failure at the caller's line, with a caret under the character, and nothing is read;
/// so is a step that is not positive, and a call outside of a scope without a clock. On cancellation it
/// goes no further, and that is a failure, too.
///
/// The notation is that of RxJS's marble diagrams, but that a group is one step, as in the validation
/// diagrams of swift-async-algorithms. O(events + k log n) for k of n pending sleeps that wake.
///
/// - Parameters:
///   - sequence: What is read, by a task of its own that begins now.
///   - diagram: What is expected.
///   - step: How much time each step stands for.
///   - values: The values that the characters of the diagram stand for.
///   - isExpected: Whether an error is the expected one; by default each is.
///   - clock: The clock to be moved; the one of the current scope of virtual time by default.
///   - fileID: The file in which a failure is recorded, as `#fileID`.
///   - filePath: The file in which a failure is recorded, as `#filePath`.
///   - line: The line at which a failure is recorded.
///   - column: The column at which a failure is recorded.
/// - Returns: Whether everything was as the diagram shows.
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
  /// Of characters with the same value the first one stands for it.
  let symbol: @Sendable (Elements.Element) -> String = { value in
    known.first { $0.value == value }.map { String($0.key) } ?? String(describing: value)
  }
  let expectation = TimelineExpectation(
    diagram: diagram, step: step, clock: clock, callSite: callSite,
    isKnown: { values[$0] != nil },
    canonical: { text in text.count == 1 ? values[Character(text)].map(symbol) ?? text : text })
  return await expectation.check(sequence, isExpected, symbol)
}

/// Expects of a sequence what a diagram shows, whose characters are the descriptions of its values.
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
    diagram: diagram, step: step, clock: clock, callSite: callSite, isKnown: { _ in true },
    canonical: { $0 })
  return await expectation.check(sequence, isExpected) { String(describing: $0) }
}

/// What is expected of a sequence, and by whom.
private struct TimelineExpectation {
  let diagram: String
  let step: Duration
  let clock: TestClock<Duration>?
  let callSite: CallSite
  let isKnown: (Character) -> Bool
  /// The text by which a value is called that a diagram calls so.
  let canonical: (String) -> String

  private static let name = "expectTimeline(of:_:every:)"

  nonisolated(nonsending) func check<Elements: AsyncSequence & SendableMetatype>(
    _ sequence: sending Elements, _ isExpected: (any Error) -> Bool,
    _ symbol: sending @escaping (Elements.Element) -> String
  ) async -> Bool where Elements.AsyncIterator: SendableMetatype {
    guard let clock = clock ?? VirtualTime.current?.clock else {
      fail(
        "\(Self.name) expects to be called in a scope of virtual time, or to be given a clock.\n"
          + "Write @Test(.virtualTime), or on: clock.")
      return false
    }
    guard step > .zero else {
      fail("\(Self.name) expects that a step takes time, but got \(step). Nothing was read.")
      return false
    }
    let parsed: Diagram
    do {
      parsed = try Diagram(diagram, isKnown: isKnown).mapValues(canonical)
    } catch {
      fail("\(Self.name) does not understand the diagram: \(error)")
      return false
    }
    let reader = SequenceReader(
      sequence, on: clock, named: "expectTimeline", convert: symbol)
    defer { reader.close() }
    guard await read(reader, parsed, clock) else { return false }
    let events = events(reader, parsed, isExpected)
    guard let difference = DiagramDifference(parsed, events, every: step) else { return true }
    clock.fail(
      "The sequence does not do what the diagram says: \(difference.first).\n"
        + difference.lines.joined(separator: "\n"), at: callSite)
    return false
  }

  /// Moves time to the end of the diagram; returns whether that was possible.
  private nonisolated(nonsending) func read(
    _ reader: SequenceReader<String>, _ parsed: Diagram, _ clock: TestClock<Duration>
  ) async -> Bool {
    var rest = step * (parsed.steps.count - 1)
    if let cancellation = parsed.cancellation {
      guard await follow(clock, step * cancellation) else { return false }
      rest -= step * cancellation
      reader.cancel()
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

  /// What was read as symbols, with the cancellation among them.
  private func events(
    _ reader: SequenceReader<String>, _ parsed: Diagram, _ isExpected: (any Error) -> Bool
  ) -> [DiagramDifference.Event] {
    let cancelled = parsed.cancellation.map { step * $0 }
    var events: [DiagramDifference.Event] = []
    var noted = reader.events[...]
    func take(while isWanted: (Duration, Bool) -> Bool) {
      while let (time, event) = noted.first {
        let isValue = if case .value = event { true } else { false }
        guard isWanted(time, isValue) else { return }
        noted = noted.dropFirst()
        switch event {
        case .value(let value): events.append(.init(time: time, symbol: .value(value)))
        case .end: events.append(.init(time: time, symbol: .end))
        case .error(let error):
          let isExpected = isExpected(error) || (time == cancelled && error is CancellationError)
          events.append(
            .init(time: time, symbol: .error(isExpected: isExpected, "\(error)")))
        }
      }
    }
    if let cancelled {
      // Values of that instant come before; what comes of the cancellation is behind it.
      take { time, isValue in time < cancelled || (time == cancelled && isValue) }
      if parsed.saysEndAfterCancellation {
        events.append(.init(time: cancelled, symbol: .cancellation))
      } else {
        // It ends in whichever way.
        let hasEnded = noted.first.map { $0.time == cancelled } ?? false
        events.append(
          .init(time: cancelled, symbol: hasEnded ? .cancellation : .ignoredCancellation))
        if hasEnded { noted = noted.dropFirst() }
      }
    }
    take { _, _ in true }
    return events
  }

  private func fail(_ message: String) { recordFailure(message, at: callSite) }
}
