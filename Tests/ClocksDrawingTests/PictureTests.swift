import Foundation
import TestTraits
import Testing

@testable import ClocksDrawing

/// Pictures and traces are well-formed, whatever the history contains, and labels do not overlap.
@Suite struct PictureTests {
  /// Returns the history of `count` tasks that sleep. The last is cancelled, all others wake.
  private func history(tasks count: Int, name: (Int) -> String? = { "task \($0)" }) -> History {
    var events: [RecordedEvent] = []
    var names: [UInt64: String] = [:]
    for task in 1...UInt64(count) {
      names[task + 1] = name(Int(task))
      events.append(.init(.created, task: task + 1, other: 1))
      events.append(.init(.enqueued, task: task + 1, other: 1))
    }
    for task in 2...UInt64(count + 1) {
      events.append(.init(.began, actor: UInt16(task % 3), task: task))
      events.append(.init(.slept, task: task, time: .seconds(Int(task))))
      events.append(.init(.ended, task: task))
    }
    for task in 2..<UInt64(count + 1) {
      events.append(.init(.timeMoved, time: .seconds(Int(task))))
      events.append(.init(.woken, task: task))
      events.append(.init(.enqueued, task: task))
      events.append(.init(.began, actor: UInt16(task % 3), task: task))
      events.append(.init(.mark, task: task, other: task))
      events.append(.init(.ended, task: task))
    }
    events.append(.init(.mark, task: 1, other: 1))
    events.append(.init(.cancelled, task: UInt64(count + 1)))
    let marks = Dictionary(
      uniqueKeysWithValues: (1...UInt64(count)).map { ($0, "mark \($0) of <these> & \"those\"") })
    var context = RecordingContext(start: .zero)
    context.root = 1
    context.names = names
    context.marks = marks
    context.actors = ["MainActor", "Cache<Int>"]
    return history(events, context)
  }

  private func history(
    _ events: [RecordedEvent], _ context: RecordingContext, limit: Int = .max
  ) -> History {
    HistoryBuilder.build(
      context, count: events.count, limit: limit, forEachEvent: { events.forEach($0) })
  }

  @Test(arguments: [3, 100, 1_500]) func theTextHasAsManyLinesAsItsCallerAsksFor(limit: Int) {
    let numbers = Array(UInt64(1)...2_000)
    var context = RecordingContext(start: .zero)
    context.root = 1
    context.marks = Dictionary(uniqueKeysWithValues: numbers.map { ($0, "mark \($0)") })
    let events = numbers.map { RecordedEvent(.mark, task: 1, other: $0) }
    let lines = history(events, context).lanes(limit: limit)
    #expect(lines.count == limit)
    #expect(lines[1] == "… \((2_000 - (limit - 2)).grouped) earlier events")
    #expect(lines.last?.contains("mark 2000") == true)
  }

  @Test(arguments: [1, 5, 30, 80, 500]) func aPictureIsWellFormed(tasks: Int) throws {
    let svg = TimelinePicture(history(tasks: tasks), title: "A <test> & \"more\"\u{0}").svg
    let parsed = try ParsedElement.parse(svg)
    #expect(parsed.name == "svg")
    #expect(parsed.children.first?.text == "A <test> & \"more\"␀")
    // Everything lies within the page.
    let width = try #require(parsed.number("width"))
    let height = try #require(parsed.number("height"))
    let rects = parsed.all("rect")
    #expect(!rects.isEmpty)
    for rect in rects {
      let (x, y) = (try #require(rect.number("x")), try #require(rect.number("y")))
      #expect(x >= 0)
      #expect(x + (try #require(rect.number("width"))) <= width)
      #expect(y >= 0)
      #expect(y + (try #require(rect.number("height"))) <= height)
    }
    let names = parsed.all("text").filter { ["name", "unnamed"].contains($0.attributes["class"]) }
    #expect(names.count == tasks + 1)
  }

  @Test(arguments: [1, 5, 30, 80, 500]) func labelsDoNotOverlap(tasks: Int) throws {
    let svg = TimelinePicture(history(tasks: tasks), title: "A test").svg
    let texts = try ParsedElement.parse(svg).all("text").map(Label.init).sorted { $0.y < $1.y }
    for (index, one) in texts.enumerated() {
      for other in texts[(index + 1)...].prefix(while: { $0.y - one.y < 20 }) {
        #expect(!one.overlaps(other), "\(one) and \(other)")
      }
    }
    #expect(texts.count > tasks)
  }

  @Test func longNamesAreCutAndHaveTheirFullTextAsATitle() throws {
    let name = "a task \"that\" <has> 🐢 & a name that is far too long for any lane of a picture"
    let svg = try ParsedElement.parse(
      TimelinePicture(history(tasks: 2) { _ in name }, title: "t").svg)
    let label = try #require(svg.all("text").first { $0.attributes["class"] == "name" })
    #expect(label.children.first?.text == name)
    #expect(label.text == "a task \"that\" <has> 🐢 &…")
  }

  @Test func theLegendExplainsOnlyWhatThePictureContains() throws {
    let svg = try ParsedElement.parse(TimelinePicture(history(tasks: 2), title: "t").svg)
    let words = svg.all("text").filter { $0.attributes["class"] == "faint" }.map(\.text)
    #expect(
      words == [
        "2 s of virtual time, 3 tasks, 18 events", "a job", "Cache<Int>", "sleep",
        "cancelled sleep", "creates a task", "cancels it", "mark",
      ])
  }

  @Test func aHistoryWithoutEventsCanBeDrawn() throws {
    let history = history([], RecordingContext(start: .zero))
    let words = try ParsedElement.parse(TimelinePicture(history, title: "").svg).all("text")
    #expect(words.map(\.text).contains("No task has run."))
    #expect(history.lanes() == ["time"])
    _ = try JSONSerialization.jsonObject(
      with: Data(TraceEvents.json(history, title: "").utf8))
  }

  @Test func aPictureSaysWhatIsLeftOut() throws {
    var events: [RecordedEvent] = []
    for task in 2...UInt64(1_501) {
      events.append(.init(.created, task: task, other: 1))
      for _ in 0..<10 {
        events.append(.init(.enqueued, task: task))
        events.append(.init(.began, task: task))
        events.append(.init(.ended, task: task))
      }
    }
    var context = RecordingContext(start: .zero)
    context.root = 1
    let latest = history(events, context, limit: TimelinePicture.mostEvents)
    let svg = TimelinePicture(latest, title: "t").svg
    #expect(svg.contains("46,500 events; the first 26,500 are not shown"))
    let texts = try ParsedElement.parse(svg).all("text")
    #expect(texts.count { $0.attributes["class"] == "unnamed" } == 647)
    let all = TimelinePicture(history(events, context), title: "t").svg
    #expect(all.contains("501 tasks are not shown"))
  }

  @Test func externalTasksAreDrawn() throws {
    var context = RecordingContext(start: .zero)
    context.root = 1
    context.names = [2: "a", 3: "b"]
    var events: [RecordedEvent] = []
    for task in [UInt64(2), 3] {
      events.append(.init(.enqueued, task: task))
      events.append(.init(.becameExternal, task: task))
    }
    events.append(.init(.timeMoved, time: .seconds(1)))
    events.append(.init(.returned, task: 2))
    events.append(.init(.timeMoved, time: .seconds(2)))
    let history = history(events, context)
    #expect(history.spans.map(\.kind) == [.external, .external])
    #expect(history.spans.map(\.end.time) == [.seconds(1), .seconds(2)])
    #expect(
      history.lanes() == [
        "time  a                b", "0 s   runs externally",
        "0 s                    runs externally",
        "1 s   returns",
      ])
    let svg = try ParsedElement.parse(TimelinePicture(history, title: "t").svg)
    #expect(
      svg.all("path").flatMap { $0.all("title") }.map(\.text) == [
        "a: runs externally", "b: runs externally",
      ])
    #expect(svg.all("text").map(\.text).contains("runs externally"))
    #expect(TraceEvents.json(history, title: "t").contains(#""dur":2000000,"cat":"external""#))
  }

  // MARK: - Time

  @Test func gapsAreInProportion() {
    let moments = [0, 1, 3, 4].map { History.Moment(time: .seconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 100, width: 400, most: 2_000)
    let gaps = zip(axis.instants, axis.instants.dropFirst()).map { $1.from - $0.to }
    #expect(abs(gaps[1] - 2 * gaps[0]) < 0.001 && abs(gaps[2] - gaps[0]) < 0.001)
    #expect(abs(axis.width - 400) < 0.001)
    #expect(axis.instants.map(\.isCompressed) == [false, false, false, false])
    #expect(axis.x(moments[0]) == 100 + axis.step / 2)
  }

  @Test func longGapsAreCompressed() {
    let moments = [0, 1, 2, 1_000_000].map { History.Moment(time: .seconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 0, width: 400, most: 2_000)
    #expect(axis.instants.map(\.isCompressed) == [false, false, false, true])
    #expect(axis.width <= 400.001)
    #expect(moments.map(axis.x) == moments.map(axis.x).sorted())
  }

  @Test func theLimitsOfDurationCanBeDrawn() throws {
    let ends = [Duration(attoseconds: .min), .zero, Duration(attoseconds: .max)]
    let axis = TimeAxis(
      ends.enumerated().map { .init(time: $1, job: $0) }, start: 0, width: 700, most: 2_000)
    #expect(axis.width <= 700.001)
    let events: [RecordedEvent] = [
      .init(.slept, task: 1, time: ends[2]), .init(.timeMoved, time: ends[2]),
      .init(.woken, task: 1),
    ]
    var context = RecordingContext(start: ends[0])
    context.root = 1
    let history = history(events, context)
    let texts = try ParsedElement.parse(TimelinePicture(history, title: "t").svg).all("text")
    #expect(texts.map(\.text).contains("∞"))
    _ = try JSONSerialization.jsonObject(
      with: Data(TraceEvents.json(history, title: "t").utf8))
    #expect(history.lanes() == ["time  test", "-∞    sleeps until ∞", "∞     wakes"])
  }

  /// Jitter that is drawn as a `Double` has up to eighteen digits.
  @Test func instantsAreRoundedToNanosecondsUnlessTwoWouldBeEqual() {
    let jitter = Duration.milliseconds(300) + Duration(attoseconds: 44_400)
    let events: [RecordedEvent] = [
      .init(.slept, task: 1, time: jitter), .init(.timeMoved, time: jitter),
      .init(.woken, task: 1),
    ]
    var context = RecordingContext(start: .zero)
    context.root = 1
    #expect(
      history(events, context).lanes() == [
        "time    test", "0 s     sleeps until ≈0.3 s", "≈0.3 s  wakes",
      ])
    let later = Duration.milliseconds(300)
    let more: [RecordedEvent] = [.init(.slept, task: 1, time: jitter + later + later)]
    #expect(history(events + more, context).lanes().last?.hasSuffix("until ≈0.9 s") == true)
    let close: [RecordedEvent] = [.init(.slept, task: 1, time: later)]
    #expect(
      history(events + close, context).lanes() == [
        "time                  test",
        "0 s                   sleeps until 0.3000000000000444 s",
        "0.3000000000000444 s  wakes",
        "0.3000000000000444 s  sleeps until 0.3 s",
      ])
  }

  @Test func manyMomentsStayWithinTheGreatestWidth() {
    let moments = (0..<10_000).map { History.Moment(time: .milliseconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 0, width: 700, most: 2_000)
    #expect(axis.width <= 2_000.001)
    #expect(axis.instants.count == 10_000)
  }

  // MARK: - Perfetto

  @Test func traceEventsAreJSONWithVirtualTime() throws {
    let json = TraceEvents.json(
      history(tasks: 3) { $0 == 1 ? "a \"b\" \\ \n \u{1}" : nil }, title: "t")
    let parsed = try #require(
      try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    let events = try #require(parsed["traceEvents"] as? [[String: Any]])
    let names = events.filter { $0["name"] as? String == "thread_name" }
      .compactMap { ($0["args"] as? [String: Any])?["name"] as? String }
    #expect(names == ["test", "a \"b\" \\ \n \u{1}", "task 1", "task 2"])
    let sleeps = events.filter { $0["cat"] as? String == "sleep" }
    #expect(sleeps.map { $0["ts"] as? Double } == [0, 0, 0])
    #expect(sleeps.map { $0["dur"] as? Double } == [2_000_000, 3_000_000, 3_000_000])
    #expect(
      sleeps.map { ($0["args"] as? [String: Any])?["end"] as? String }
        == ["woken", "woken", "cancelled"])
    let marks = events.filter { $0["ph"] as? String == "i" }
    #expect(marks.map { $0["tid"] as? Int } == [2, 3, 1])
    #expect(events.count { $0["ph"] as? String == "s" } == 4)
    #expect(events.count { $0["ph"] as? String == "f" } == 4)
  }
}

/// The position of a text and its approximate size.
private struct Label: CustomStringConvertible {
  let text: String
  let x: Double
  let y: Double
  let size: Double

  init(_ element: ParsedElement) {
    text = element.text
    x = element.number("x") ?? 0
    y = element.number("y") ?? 0
    size = element.number("font-size") ?? 12
  }

  func overlaps(_ other: Label) -> Bool {
    // The average letter is about 0.55 times as wide as high.
    let (end, otherEnd) = (
      x + 0.55 * size * Double(text.count), other.x + 0.55 * other.size * Double(other.text.count)
    )
    return x < otherEnd && other.x < end && abs(y - other.y) < 0.7 * max(size, other.size)
  }

  var description: String { "\"\(text)\" at \(x), \(y)" }
}
