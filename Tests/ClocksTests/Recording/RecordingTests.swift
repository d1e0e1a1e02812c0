import Testing

@testable import Clocks
@testable import ClocksDrawing

/// The recorded events: tasks, sleeps, effects of tasks on each other, and marks.
@Suite(.enabled(if: Environment.traceFolder == nil, "every test is recorded already"))
struct RecordingTests {
  private func lanes(_ timeline: RecordedTimeline?, width: Int = 100, lines: Int = 40) -> [String] {
    (timeline?.lanes(width: width, lines: lines) ?? "").split(separator: "\n").map(String.init)
  }

  @Test func aScopeIsRecorded() async throws {
    try await withVirtualTime { time in
      time.recordTimeline()
      let poller = Task(name: "poller") {
        for _ in 0..<2 { try await Task.sleep(for: .seconds(1)) }
      }
      let worker = Task(name: "worker") { @MainActor in
        time.mark("begins")
        try await time.clock.sleep(for: .seconds(60))
      }
      try await Task.sleep(for: .seconds(1.5))
      worker.cancel()
      try await poller.value
      _ = await worker.result
      #expect(
        lanes(time.recordedTimeline) == [
          "time   test                poller            worker",
          "0 s    ─────────────────▶  created",
          "0 s    ───────────────────────────────────▶  created",
          "0 s    sleeps until 1.5 s",
          "0 s                        runs",
          "0 s                        sleeps until 1 s",
          "0 s                                          runs on MainActor",
          "0 s                                          ● begins",
          "0 s                                          sleeps until 60 s",
          "1 s                        wakes",
          "1 s                        sleeps until 2 s",
          "1.5 s  wakes",
          "1.5 s  ───────────────────────────────────▶  cancelled",
          "1.5 s                                        runs on MainActor",
          "2 s                        wakes",
          "2 s    resumed ◀──────────",
        ])
    }
  }

  @Test func aTestWithoutAScopeIsRecorded() async throws {
    let clock = TestClock()
    clock.recordTimeline()
    let sleeper = Task(name: "sleeper") { try await clock.sleep(for: .seconds(5)) }
    await clock.advance(by: .seconds(1))
    clock.mark("a second later")
    sleeper.cancel()
    _ = await sleeper.result
    #expect(
      lanes(clock.recordedTimeline) == [
        "time  test              sleeper",
        "0 s   ───────────────▶  created",
        "0 s                     sleeps until 5 s",
        "1 s   ● a second later",
        "1 s   ───────────────▶  cancelled",
        "1 s   resumed ◀────────",
      ])
  }

  @Test func marksAreNotEvaluatedWithoutARecording() async throws {
    let clock = TestClock()
    clock.mark(
      {
        Issue.record("the test is not recorded")
        return ""
      }())
    #expect(clock.recordedTimeline == nil)
    try await withVirtualTime { time in
      time.mark(
        {
          Issue.record("the test is not recorded")
          return ""
        }())
      #expect(time.recordedTimeline == nil)
      #expect(time.scheduler.change { $0.recorder } == nil)
    }
  }

  @Test func aSecondRecordingHasNoEffect() async throws {
    let clock = TestClock()
    clock.recordTimeline()
    clock.mark("one")
    clock.recordTimeline(events: 1)
    clock.mark("two")
    #expect(lanes(clock.recordedTimeline) == ["time  test", "0 s   ● one", "0 s   ● two"])
  }

  @Test func resumingAContinuationIsAnEffectOnItsTask() async throws {
    try await withVirtualTime { time in
      time.recordTimeline()
      let (stream, continuation) = AsyncStream<Int>.makeStream()
      let reader = Task(name: "reader") { for await _ in stream {} }
      try await Task.sleep(for: .seconds(1))
      continuation.yield(1)
      try await Task.sleep(for: .seconds(1))
      continuation.finish()
      await reader.value
      #expect(
        lanes(time.recordedTimeline) == [
          "time  test              reader",
          "0 s   ───────────────▶  created",
          "0 s   sleeps until 1 s",
          "0 s                     runs",
          "1 s   wakes",
          "1 s   ───────────────▶  resumed",
          "1 s   sleeps until 2 s",
          "1 s                     runs",
          "2 s   wakes",
          "2 s   ───────────────▶  resumed",
          "2 s   resumed ◀────────",
        ])
    }
  }

  // MARK: - Tasks and actors

  @Test func aTaskIsAChildOfTheTaskThatCreatedIt() async throws {
    try await withVirtualTime { time in
      time.recordTimeline()
      await withTaskGroup(of: Void.self) { group in
        group.addTask(name: "outer") {
          async let inner: Void = Task.sleep(for: .seconds(1))
          try? await inner
        }
      }
      await Task.detached(name: "detached") {}.value
      let history = try #require(time.recordedTimeline).history()
      let tree = history.tasks.map { task in
        "\(task.title) < \(task.parent.map { history.tasks[$0].title } ?? "none")"
      }
      #expect(
        tree == [
          "test < none", "outer < test", "task 1 < outer", "detached < test",
        ])
    }
  }

  private actor Cache {
    func refresh(_ clock: TestClock<Duration>, _ deadline: Duration) async throws {
      try await clock.sleep(until: .init(offset: deadline))
      clock.mark("refreshed")
    }
  }

  @Test func jobsHaveActorsAsFarAsKnown() async throws {
    try await withVirtualTime { time in
      time.recordTimeline()
      try await Cache().refresh(time.clock, .seconds(1))
      await MainActor.run { time.mark("on main") }
      let history = try #require(time.recordedTimeline).history()
      #expect(history.actors == ["MainActor", "Cache"])
      // A task has left its actor when it sleeps.
      #expect(history.jobs.map(\.actor) == [nil, 1, 0, nil])
    }
  }

  @Test func allClocksOfATestAreInOneRecording() async throws {
    let one = TestClock()
    one.recordTimeline()
    let two = TestClock<Duration>(now: .init(offset: .seconds(100)))
    Task(name: "one") { try await one.sleep(for: .seconds(1)) }
    Task(name: "two") { try await two.sleep(for: .seconds(1)) }
    await one.advance(by: .seconds(1))
    await two.advance(by: .seconds(1))
    #expect(
      lanes(two.recordedTimeline) == [
        "time   test  one               two",
        "0 s    ───▶  created",
        "0 s    ─────────────────────▶  created",
        "0 s          runs",
        "0 s          sleeps until 1 s",
        "0 s                            runs",
        "0 s                            sleeps until 101 s",
        "1 s          wakes",
        "101 s                          wakes",
      ])
  }

  @Test(arguments: [(-5, "-5 s  ● begins"), (0, "0 s   ● begins"), (100, "100 s  ● begins")])
  func aRecordingBeginsAtTheTimeOfItsClock(seconds: Int, line: String) async {
    let clock = TestClock<Duration>(now: .init(offset: .seconds(seconds - 1)))
    await clock.advance(by: .seconds(1))
    clock.recordTimeline()
    clock.mark("begins")
    #expect(lanes(clock.recordedTimeline).last == line)
  }

  @Test func anInnerScopeHasItsOwnRecording() async throws {
    try await withVirtualTime { outer in
      outer.recordTimeline()
      try await withVirtualTime { inner in
        inner.recordTimeline()
        try await Task.sleep(for: .seconds(7))
        #expect(
          lanes(inner.recordedTimeline) == [
            "time  test", "0 s   sleeps until 7 s", "7 s   wakes",
          ])
      }
      outer.mark("nothing has passed here")
      #expect(lanes(outer.recordedTimeline).last?.hasPrefix("0 s") == true)
    }
  }

  // MARK: - The end

  @Test func aRecordingIsDeliveredWhenItsSchedulerIsFreed() async throws {
    let (delivered, continuation) = AsyncStream<String>.makeStream()
    await Task.detached {
      let clock = TestClock()
      let recorder = Recorder("t") { continuation.yield($0.lanes()) }
      clock.scheduler.change { $0.recorder = recorder }
      clock.mark("one")
    }.value
    // The scheduler is freed after the last job that it runs.
    #expect(await delivered.first { _ in true } == "time\n0 s   ● one")
  }

  @Test func aRecorderIsDeliveredOnce() async throws {
    let delivered = Log<String>()
    let clock = TestClock()
    let recorder = Recorder("t") { delivered.add($0.title) }
    clock.scheduler.change { $0.recorder = recorder }
    #expect(delivered.all == [])
    recorder.deliver()
    recorder.deliver()
    #expect(delivered.all == ["t"])
  }

  // MARK: - Bounds

  @Test func theEarliestEventsAreDropped() async throws {
    let clock = TestClock()
    clock.recordTimeline(events: 10_000)
    Task(name: "ticker") {
      for _ in 0..<10_000 { try await clock.sleep(for: .seconds(1)) }
    }
    await clock.advance(by: .seconds(10_000))
    let timeline = try #require(clock.recordedTimeline)
    #expect(timeline.eventCount == 60_006)
    let history = timeline.history()
    #expect(history.eventCount == 60_006)
    // At least `events` are kept, and whole blocks of 4,096 events are dropped.
    #expect(history.missingEvents == 11 * 4_096)
    #expect(history.end.time == .seconds(10_000))
    #expect(lanes(timeline, lines: 4).first == "time      ticker")
    // A number of lines without a limit.
    #expect(lanes(timeline, lines: .max).count > 2_000)
  }

  @Test func jobsWithoutALineDoNotHideTheLinesBefore() {
    var store = EventStore(limit: 100_000)
    store.append(RecordedEvent(.mark, task: 1, other: 1))
    for _ in 0..<10_000 {
      store.append(RecordedEvent(.enqueued, task: 1, other: 1))
      store.append(RecordedEvent(.began, task: 1))
      store.append(RecordedEvent(.ended, task: 1))
    }
    var context = RecordingContext(start: .zero)
    context.root = 1
    context.marks = [1: "begins"]
    let timeline = RecordedTimeline(title: "", events: store, context)
    #expect(timeline.lanes() == "time  test\n0 s   ● begins")
    #expect(
      timeline.explanation(lines: 40)
        == "What happened:\ntime  test\n0 s   ● begins\n0 s   ✘ the failure")
  }

  @Test func aTimelineWithoutEventsIsEmpty() {
    let timeline = RecordedTimeline(
      title: "", events: EventStore(limit: 1), RecordingContext(start: .zero))
    #expect(timeline.isEmpty)
    #expect(timeline.lanes() == "time")
    #expect(timeline.svg.contains("No task has run."))
    #expect(timeline.traceEvents.hasPrefix("{"))
  }

  @Test func aPictureHasTheLatestEvents() {
    var store = EventStore(limit: 100_000)
    for _ in 0..<46_500 { store.append(RecordedEvent(.ended)) }
    let timeline = RecordedTimeline(title: "", events: store, RecordingContext(start: .zero))
    #expect(timeline.svg.contains("46,500 events; the first 26,500 are not shown"))
  }

  @Test func eventsAreSmall() {
    #expect(MemoryLayout<RecordedEvent>.stride <= 40)
  }

  @Test func aCopyOfAStoreDoesNotChange() {
    var store = EventStore(limit: 10_000)
    for number in 0..<5_000 { store.append(RecordedEvent(.mark, other: UInt64(number))) }
    let copy = store
    for number in 5_000..<50_000 { store.append(RecordedEvent(.mark, other: UInt64(number))) }
    var seen: [UInt64] = []
    copy.forEachEvent { seen.append($0.other) }
    #expect(seen == Array(0..<5_000))
    seen = []
    store.forEachEvent { seen.append($0.other) }
    #expect(seen == Array(UInt64(store.dropped)..<50_000))
    #expect(store.count + store.dropped == 50_000)
    #expect(store.dropped == 9 * 4_096)
  }
}
