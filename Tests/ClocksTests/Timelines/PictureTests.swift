import ClocksSupport
import Foundation
import Testing

@testable import Clocks

/// The picture and the events for Perfetto: that they are well formed whatever is in them, that nothing
/// lies over anything else, and that they say what happened.
@Suite struct PictureTests {
  /// A history that needs no test: `count` tasks that sleep and are woken, the last one is cancelled.
  private func history(tasks count: Int, name: (Int) -> String? = { "task \($0)" }) -> History {
    var events = EventStore(limit: 1_000_000)
    var names: [UInt64: String] = [:]
    for task in 1...UInt64(count) {
      names[task + 1] = name(Int(task))
      events.append(.init(kind: .created, task: task + 1, other: 1))
      events.append(.init(kind: .enqueued, task: task + 1, other: 1))
    }
    for task in 2...UInt64(count + 1) {
      events.append(.init(kind: .began, actor: UInt16(task % 3), task: task))
      events.append(.init(kind: .slept, hasTime: true, task: task, time: .seconds(Int(task))))
      events.append(.init(kind: .ended, task: task))
    }
    for task in 2..<UInt64(count + 1) {
      events.append(.init(kind: .timeMoved, hasTime: true, time: .seconds(Int(task))))
      events.append(.init(kind: .woken, task: task))
      events.append(.init(kind: .enqueued, task: task))
      events.append(.init(kind: .began, actor: UInt16(task % 3), task: task))
      events.append(.init(kind: .mark, task: task, other: task))
      events.append(.init(kind: .ended, task: task))
    }
    events.append(.init(kind: .mark, task: 1, other: 1))
    events.append(.init(kind: .cancelled, task: UInt64(count + 1)))
    let marks = Dictionary(
      uniqueKeysWithValues: (1...UInt64(count)).map { ($0, "mark \($0) of <these> & \"those\"") })
    return HistoryBuilder.build(
      Recording(
        events: events, start: .zero, root: 1, names: names, marks: marks,
        actors: ["MainActor", "Cache<Int>"]))
  }

  @Test(arguments: [1, 5, 30, 80, 500]) func aPictureIsWellFormed(tasks: Int) throws {
    let svg = TimelinePicture(history(tasks: tasks), title: "A <test> & \"more\"\u{0}").svg
    let parsed = try Element.parse(svg)
    #expect(parsed.name == "svg")
    #expect(parsed.children.first?.text == "A <test> & \"more\"␀")
    // All lies within the page.
    let width = try #require(parsed.number("width"))
    let height = try #require(parsed.number("height"))
    for rect in parsed.all("rect") {
      let (x, y) = (rect.number("x") ?? 0, rect.number("y") ?? 0)
      #expect(x >= 0 && x + (rect.number("width") ?? 0) <= width)
      #expect(y >= 0 && y + (rect.number("height") ?? 0) <= height)
    }
    // A lane for each task, each with its name.
    let names = parsed.all("text").filter { ["name", "unnamed"].contains($0.attributes["class"]) }
    #expect(names.count == tasks + 1)
  }

  @Test(arguments: [1, 5, 30, 80, 500]) func labelsDoNotOverlap(tasks: Int) throws {
    let svg = TimelinePicture(history(tasks: tasks), title: "A test").svg
    let texts = try Element.parse(svg).all("text").map(Label.init).sorted { $0.y < $1.y }
    for (index, one) in texts.enumerated() {
      for other in texts[(index + 1)...].prefix(while: { $0.y - one.y < 20 }) {
        #expect(!one.overlaps(other), "\(one) and \(other)")
      }
    }
    #expect(texts.count > tasks)
  }

  @Test func longNamesAreCutAndHaveTheirWholeAsATitle() throws {
    let name = "a task \"that\" <has> 🐢 & a name that is far too long for any lane of a picture"
    let svg = try Element.parse(TimelinePicture(history(tasks: 2) { _ in name }, title: "t").svg)
    let label = try #require(svg.all("text").first { $0.attributes["class"] == "name" })
    #expect(label.children.first?.text == name)
    #expect(label.text == "a task \"that\" <has> 🐢 &…")
  }

  @Test func whatDoesNotHappenIsNotInTheLegend() throws {
    let svg = try Element.parse(TimelinePicture(history(tasks: 2), title: "t").svg)
    let words = svg.all("text").filter { $0.attributes["class"] == "faint" }.map(\.text)
    #expect(
      words == [
        "2 s of virtual time, 3 tasks, 18 events", "a job", "Cache<Int>", "sleep",
        "cancelled sleep", "creates a task", "cancels it", "mark",
      ])
  }

  @Test func nothingHappenedIsAPicture() throws {
    let empty = Recording(
      events: EventStore(limit: 1), start: .zero, root: 0, names: [:], marks: [:], actors: [])
    let timeline = RecordedTimeline(title: "", empty)
    #expect(timeline.isEmpty)
    let words = try Element.parse(timeline.svg).all("text").map(\.text)
    #expect(words.contains("No task has run."))
    #expect(timeline.lanes() == "time")
    _ = try JSONSerialization.jsonObject(with: Data(timeline.traceEvents.utf8))
  }

  @Test func aPictureSaysWhatIsLeftOut() throws {
    var events = EventStore(limit: 1_000_000)
    for task in 2...UInt64(1_501) {
      events.append(.init(kind: .created, task: task, other: 1))
      for _ in 0..<10 {
        events.append(.init(kind: .enqueued, task: task))
        events.append(.init(kind: .began, task: task))
        events.append(.init(kind: .ended, task: task))
      }
    }
    let recording = Recording(
      events: events, start: .zero, root: 1, names: [:], marks: [:], actors: [])
    let svg = RecordedTimeline(title: "t", recording).svg
    #expect(svg.contains("46,500 events; the first 26,500 are not shown"))
    let lanes = try Element.parse(svg).all("text").filter { $0.attributes["class"] == "unnamed" }
    #expect(lanes.count == 647)
    let many = HistoryBuilder.build(recording)
    #expect(TimelinePicture(many, title: "t").svg.contains("501 tasks are not shown"))
  }

  // MARK: - Time

  @Test func timeIsInProportion() {
    let moments = [0, 1, 3, 4].map { History.Moment(time: .seconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 100, width: 400, most: 2_000)
    let gaps = zip(axis.instants, axis.instants.dropFirst()).map { $1.from - $0.to }
    #expect(abs(gaps[1] - 2 * gaps[0]) < 0.001 && abs(gaps[2] - gaps[0]) < 0.001)
    #expect(abs(axis.width - 400) < 0.001)
    #expect(axis.instants.map(\.isCompressed) == [false, false, false, false])
    #expect(axis.x(moments[0]) == 100 + axis.step / 2)
  }

  @Test func timeIsCompressedWhereNothingHappens() {
    let moments = [0, 1, 2, 1_000_000].map { History.Moment(time: .seconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 0, width: 400, most: 2_000)
    #expect(axis.instants.map(\.isCompressed) == [false, false, false, true])
    #expect(axis.width <= 400.001)
    #expect(moments.map(axis.x) == moments.map(axis.x).sorted())
  }

  @Test func theEndsOfTimeCanBeDrawn() throws {
    let ends = [Duration(attoseconds: .min), .zero, Duration(attoseconds: .max)]
    let axis = TimeAxis(
      ends.enumerated().map { .init(time: $1, job: $0) }, start: 0, width: 700, most: 2_000)
    #expect(axis.width <= 700.001)
    var events = EventStore(limit: 100)
    events.append(.init(kind: .slept, hasTime: true, task: 1, time: ends[2]))
    events.append(.init(kind: .timeMoved, hasTime: true, time: ends[2]))
    events.append(.init(kind: .woken, task: 1))
    let timeline = RecordedTimeline(
      title: "t",
      Recording(events: events, start: ends[0], root: 1, names: [:], marks: [:], actors: []))
    #expect(try Element.parse(timeline.svg).all("text").map(\.text).contains("∞"))
    _ = try JSONSerialization.jsonObject(with: Data(timeline.traceEvents.utf8))
    #expect(timeline.lanes() == "time  test\n-∞    sleeps until ∞\n∞     wakes")
  }

  @Test func manyMomentsDoNotGetTooWide() {
    let moments = (0..<10_000).map { History.Moment(time: .milliseconds($0), job: $0) }
    let axis = TimeAxis(moments, start: 0, width: 700, most: 2_000)
    #expect(axis.width <= 2_000.001)
    #expect(axis.instants.count == 10_000)
  }

  @Test(arguments: [
    (Duration.zero, "0 s"), (.seconds(86_400), "86,400 s"), (.milliseconds(250), "0.25 s"),
    (.nanoseconds(1), "0.000000001 s"), (.milliseconds(-1_500), "-1.5 s"),
    (.milliseconds(-500), "-0.5 s"), (.seconds(Int64.min), "-∞"),
    (Duration(attoseconds: .max), "∞"),
    (.seconds(999_999_999_999_999), "999,999,999,999,999 s"),
  ])
  func durationsAreWrittenInSeconds(duration: Duration, text: String) {
    #expect(duration.inSeconds == text)
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

  // MARK: - Files

  @Test(arguments: [
    ("Suite.test()", "Suite.test"), ("test(a:b:) \"x/y\", 3", "test-a-b-x-y-3"),
    ("../../etc/passwd", "etc-passwd"), ("", "timeline"), ("///", "timeline"),
    ("🐢 und Käse", "und-Käse"), (".hidden", "hidden"),
    (String(repeating: "long", count: 100), String(repeating: "long", count: 45) + "l"),
  ])
  func namesOfFilesAreSafe(name: String, file: String) {
    #expect(name.fileName == file)
    #expect(name.fileName.utf8.count <= 200)
  }

  @Test func aFileIsWrittenWholeOrNotAtAll() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "Clocks-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try TextFile.makeFolder(folder + "/a/b")
    try TextFile.makeFolder(folder + "/a/b")
    try TextFile.write("one", to: folder + "/a/b/c")
    try TextFile.write("two", to: folder + "/a/b/c")
    #expect(try String(contentsOfFile: folder + "/a/b/c", encoding: .utf8) == "two")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/a/b") == ["c"])
    let missing = #expect(throws: TextFile.WriteError.self) {
      try TextFile.write("x", to: folder + "/no/c")
    }
    #expect(missing?.description == "cannot write \(folder)/no/c: No such file or directory")
    let inTheWay = #expect(throws: TextFile.WriteError.self) {
      try TextFile.makeFolder(folder + "/a/b/c/d")
    }
    #expect(inTheWay?.description == "cannot write \(folder)/a/b/c/d: Not a directory")
    #if os(Linux)
      let full = #expect(throws: TextFile.WriteError.self) {
        try TextFile.write("x", to: "/dev/full")
      }
      #expect(full?.description == "cannot write /dev/full: No space left on device")
    #endif
  }
}

/// Where a text stands, roughly as broad as it is drawn.
private struct Label: CustomStringConvertible {
  let text: String
  let x: Double
  let y: Double
  let size: Double

  init(_ element: Element) {
    text = element.text
    x = element.number("x") ?? 0
    y = element.number("y") ?? 0
    size = element.number("font-size") ?? 12
  }

  func overlaps(_ other: Label) -> Bool {
    // Letters are some 0.55 as broad as they are high.
    let (end, otherEnd) = (
      x + 0.55 * size * Double(text.count), other.x + 0.55 * other.size * Double(other.text.count)
    )
    return x < otherEnd && other.x < end && abs(y - other.y) < 0.7 * max(size, other.size)
  }

  var description: String { "\"\(text)\" at \(x), \(y)" }
}
