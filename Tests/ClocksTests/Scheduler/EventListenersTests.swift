import Testing

@testable import Clocks

/// Several listeners of one scheduler.
@Suite struct EventListenersTests {
  private final class Listener: EventListener {
    let name: String
    let log: Log<String>
    let explanation: String?

    init(_ name: String, _ log: Log<String>, explanation: String? = nil) {
      self.name = name
      self.log = log
      self.explanation = explanation
    }

    func hear(_ event: SchedulerEvent) { log.add("\(name) \(event)") }
    func see(_ task: UnownedJob, _ id: UInt64) { log.add("\(name) sees") }
    func isOver() { log.add("\(name) over") }
  }

  @Test func eachIsToldInTheOrderInWhichTheyCame() {
    let log = Log<String>()
    let listeners = ["a", "b", "c"].map { Listener($0, log) }
    var state = SchedulerState()
    for listener in listeners { state.add(listener) }
    state.note(.taskBecameExternal(7))
    #expect(log.all == ["a", "b", "c"].map { "\($0) taskBecameExternal(7)" })
    state.remove(listeners[1])
    state.note(.taskReturned(7))
    #expect(log.all.suffix(2) == ["a taskReturned(7)", "c taskReturned(7)"])
    state.remove(listeners[0])
    state.listener?.see(unsafeBitCast(8, to: UnownedJob.self), 1)
    state.listener?.isOver()
    #expect(log.all.suffix(2) == ["c sees", "c over"])
    state.remove(listeners[2])
    #expect(state.listener == nil)
  }

  @Test func oneIsToldWithoutADetour() {
    let log = Log<String>()
    let (one, other) = (Listener("a", log), Listener("b", log))
    var state = SchedulerState()
    state.add(one)
    #expect(state.listener === one)
    state.add(other)
    #expect(state.listener !== one)
    state.remove(one)
    #expect(state.listener === other)
  }

  @Test func theExplanationsOfAllListenersAreJoined() {
    let log = Log<String>()
    var state = SchedulerState()
    state.add(Listener("a", log))
    state.add(Listener("b", log))
    #expect(state.listener?.explanation == nil)
    state.add(Listener("c", log, explanation: "one"))
    state.add(Listener("d", log, explanation: "two"))
    #expect(state.listener?.explanation == "one\ntwo")
    state.listener?.see(unsafeBitCast(8, to: UnownedJob.self), 1)
    state.listener?.isOver()
    #expect(
      log.all == ["a", "b", "c", "d"].flatMap { ["\($0) sees"] } + [
        "a over", "b over", "c over", "d over",
      ])
  }

  @Test func aRecorderIsFoundAmongOthers() async throws {
    let log = Log<String>()
    let clock = TestClock()
    let listener = Listener("a", log)
    clock.scheduler.change { $0.add(listener) }
    #expect(clock.recordedTimeline == nil)
    clock.recordTimeline()
    clock.recordTimeline()
    clock.mark("here")
    Task { try await clock.sleep(for: .seconds(1)) }
    await clock.advance(by: .seconds(1))
    let lanes = try #require(clock.recordedTimeline?.lanes())
    #expect(lanes.split(separator: "\n").filter { $0.contains("wakes") }.count == 1)
    #expect(log.all.filter { $0.hasPrefix("a sleepWoken") }.count == 1)
    clock.scheduler.change { $0.remove(listener) }
    #expect(clock.recordedTimeline != nil)
  }
}
