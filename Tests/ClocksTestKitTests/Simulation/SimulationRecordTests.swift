import Clocks
import ClocksTestKit
import Testing

/// What a token and a timeline keep of a simulation.
@Suite struct SimulationRecordTests {
  enum Edit: CaseIterable, Sendable {
    case none, laterTasks, choiceInOtherTask, faultInOtherTask, stepsInOtherTask,
      laterChoiceInTheTask
  }

  private struct LateNews: Error {}

  /// Fails if the first message is lost and the second one takes as long as possible.
  private static func news(in time: VirtualTime, _ edit: Edit) async throws {
    let net = SimulatedNetwork<Int>(
      in: time, nodes: ["a", "b", "c"], latency: .milliseconds(10) ... .milliseconds(40),
      loses: true)
    let log = Log<String>()
    net.run(on: "b") {
      switch edit {
      case .choiceInOtherTask: _ = time.choose(1...3)
      case .faultInOtherTask: _ = time.fault("other")
      case .stepsInOtherTask:
        await Task.yield()
        await Task.yield()
      default: break
      }
      for await message in net.inbox(of: "b") {
        log.add("\(message.payload) at \(time.now.offset / .milliseconds(1))")
      }
    }
    let sender = Task(name: "sender") {
      try await net.send(1, from: "a", to: "b")
      try await net.send(2, from: "a", to: "b")
      if edit == .laterChoiceInTheTask { _ = time.choose(["x", "y"]) }
    }
    if edit == .laterTasks {
      Task { try await net.send(3, from: "c", to: "a") }
      Task(name: "chooser") { _ = time.choose(["x", "y"]) }
    }
    try await sender.value
    try await Task.sleep(for: .milliseconds(100))
    guard log.all != ["2 at 40.0"] else { throw LateNews() }
  }

  @Test(arguments: Edit.allCases) func aTokenSurvivesEditsElsewhere(_ edit: Edit) async throws {
    let found = try await failures {
      try await withSchedules(2_000, faults: 1) { try await Self.news(in: $0, .none) }
    }
    let text = try #require(found.first?.text)
    let token = try token(in: text)
    #expect(token.hasPrefix("2:b!1,b?1=3:"), "\(text)")
    let again = try await failures {
      try await withSchedules(.schedule(token)) { try await Self.news(in: $0, edit) }
    }
    #expect(
      again.map(\.text) == ["the operation threw LateNews: LateNews()\nSchedule \(token)."])
  }

  /// Names of choices do not depend on the bound of faults, nor on what else is explored.
  @Test func aTokenKnowsItsFaultsWithoutTheBound() async throws {
    let seen = Log<String>()
    let found = try await failures {
      try await withSchedules(.schedule("2:0!2,0?1=1:0000")) { time in
        seen.add("\(time.fault("x")) \(time.fault("x")) \(time.choose(["p", "q"]))")
      }
    }
    // The check digits of the token (`0000`) are wrong.
    #expect(found.map { $0.text.contains("the order that was recorded") } == [true])
    #expect(seen.all == ["false true q"])
  }

  @Test(.virtualTime) func aTimelineMarksMessagesAndNodes() async throws {
    let time = try VirtualTime.required
    time.recordTimeline()
    let net = SimulatedNetwork<String>(
      in: time, nodes: ["a", "b"], latency: .milliseconds(10) ... .milliseconds(10))
    net.run(on: "b") { for await _ in net.inbox(of: "b") {} }
    try await net.send("hello", from: "a", to: "b")
    try await Task.sleep(for: .milliseconds(20))
    net.partition(["a"])
    try await net.send("too early", from: "a", to: "b")
    net.heal()
    try await net.send("too late", from: "a", to: "b")
    net.crash("b")
    try await Task.sleep(for: .milliseconds(20))
    net.restart("b")
    let timeline = try #require(time.recordedTimeline)
    let lanes = timeline.lanes(width: 400, lines: 200)
    let marks = [
      "to b: hello", "arrives: hello", "partition [[\"a\"]]", "to b, out of reach: too early",
      "partition ends", "to b: too late", "crash of b", "out of reach: too late", "restart of b",
    ]
    var rest = lanes[...]
    for mark in marks {
      let range = try #require(rest.range(of: "● " + mark), "\(mark) in \(lanes)")
      rest = rest[range.upperBound...]
    }
    #expect(timeline.svg.contains("arrives: hello"))
    // A message travels in a lane of its own.
    #expect(lanes.split(separator: "\n").first?.contains("a → b") == true, "\(lanes)")
  }

  @Test func aMessageThatMattersHasALaneInTheExplanation() async throws {
    let found = try await failures {
      try await withSchedules(500) { time in
        let net = SimulatedNetwork<Int>(
          in: time, nodes: ["a", "b"], latency: .milliseconds(10) ... .milliseconds(10))
        let log = Log<Int>()
        net.run(on: "b") { for await message in net.inbox(of: "b") { log.add(message.payload) } }
        for number in 1...2 { try await net.send(number, from: "a", to: "b") }
        try await Task.sleep(for: .milliseconds(20))
        #expect(log.all == [1, 2])
      }
    }
    let text = try #require(found.first?.text)
    #expect(text.contains("c.1 before b.1   (c is \"a → b\", b is \"a → b\")"), "\(text)")
    let heading = try #require(text.firstMatch(of: /time +test \(0\).*/)?.0)
    #expect(heading.contains("b \"a → b\"  c \"a → b\""), "\(text)")
    #expect(text.contains("c~1 wakes"), "\(text)")
  }
}
