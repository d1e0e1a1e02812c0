import Testing

@testable import ClocksDrawing

/// Histories of events that are not complete.
@Suite struct HistoryBuilderTests {
  private func history(_ events: [RecordedEvent]) -> History {
    var context = RecordingContext(start: .zero)
    context.root = 1
    context.names = [2: "ticker"]
    return HistoryBuilder.build(
      context, count: events.count, forEachEvent: { events.forEach($0) })
  }

  /// The event in which the task became ready is the last of those that were dropped.
  @Test func aTaskWhoseFirstEventWasDroppedHasItsSleeps() {
    let history = history([
      .init(.began, task: 2), .init(.slept, task: 2, time: .seconds(1)), .init(.ended, task: 2),
      .init(.timeMoved, time: .seconds(1)), .init(.woken, task: 2), .init(.enqueued, task: 2),
      .init(.began, task: 2), .init(.slept, task: 2, time: .seconds(2)), .init(.ended, task: 2),
    ])
    #expect(
      history.lanes() == [
        "time  ticker", "0 s   sleeps until 1 s", "1 s   wakes", "1 s   sleeps until 2 s",
      ])
  }

  /// No job of the test runs while the task begins to sleep.
  @Test func aTaskThatJoinsTheTestHasItsFirstSleep() {
    let history = history([
      .init(.slept, task: 2, time: .seconds(1)), .init(.timeMoved, time: .seconds(1)),
      .init(.woken, task: 2),
    ])
    #expect(history.spans.map(\.kind) == [.woken])
    #expect(history.lanes() == ["time  ticker", "0 s   sleeps until 1 s", "1 s   wakes"])
  }

  /// A task that is cancelled before it is suspended never becomes ready.
  @Test func aSleepThatEndsWithoutAnEventWasCancelled() {
    let history = history([
      .init(.slept, task: 1, time: .seconds(5)), .init(.slept, task: 1, time: .seconds(7)),
    ])
    #expect(history.spans.map(\.kind) == [.cancelled, .pending])
    #expect(
      history.lanes() == [
        "time  test", "0 s   sleeps until 5 s", "0 s   cancelled", "0 s   sleeps until 7 s",
      ])
  }
}
