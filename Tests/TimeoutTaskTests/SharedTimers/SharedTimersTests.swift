import Testing

@testable import TimeoutTask

/// The shared timers, on a clock for which the test decides the reading and when each sleep ends.
@Suite struct SharedTimersTests {
  /// A clock whose sleeps end when the test ends them, or when they are cancelled.
  private final class Hand: Sendable {
    private struct State {
      var now: Int64 = 0
      var sleeps: [UInt64: UnsafeContinuation<Void, Never>] = [:]
      var begun: [SharedTimers.Sleep] = []
      var observer: (count: Int, continuation: UnsafeContinuation<Void, Never>)?
    }
    private let state = Guarded(State())

    var now: Int64 {
      get { state.withLock { $0.now } }
      set { state.withLock { $0.now = newValue } }
    }

    func sleep(_ sleep: SharedTimers.Sleep) async {
      await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          let observer = state.withLock { state in
            state.sleeps[sleep.number] = continuation
            state.begun.append(sleep)
            defer { if state.begun.count == state.observer?.count { state.observer = nil } }
            return state.begun.count == state.observer?.count ? state.observer : nil
          }
          observer?.continuation.resume()
          if Task.isCancelled { end(sleep) }
        }
      } onCancel: {
        end(sleep)
      }
    }

    /// Ends a sleep, whatever the time is.
    func end(_ sleep: SharedTimers.Sleep) {
      state.withLock { $0.sleeps.removeValue(forKey: sleep.number) }?.resume()
    }

    /// Waits until so many sleeps have begun, and returns them.
    func begun(_ count: Int) async -> [SharedTimers.Sleep] {
      await withUnsafeContinuation { continuation in
        let isThere = state.withLock { state in
          if state.begun.count < count { state.observer = (count, continuation) }
          return state.begun.count >= count
        }
        if isThere { continuation.resume() }
      }
      return state.withLock { $0.begun }
    }

    var sleepers: Int { state.withLock { $0.sleeps.count } }
  }

  private final class Bell: Alarm {
    let gate = Gate()
    func ring() { gate.open() }
    var hasRung: Bool { !gate.isClosed }
  }

  private let hand = Hand()
  private let timers: SharedTimers

  init() {
    timers = SharedTimers(now: { [hand] in hand.now }, sleep: { [hand] in await hand.sleep($0) })
  }

  private func bell(_ deadline: Int64, slack: Int64 = 0) -> (Bell, TimerHeap.Ticket) {
    let bell = Bell()
    return (bell, timers.add(deadline, slack: slack, bell))
  }

  @Test func oneSleepAtATimeServesManyDeadlines() async {
    let (first, _) = bell(10)
    let (second, _) = bell(20)
    let (third, _) = bell(30)
    var sleeps = await hand.begun(1)
    #expect(sleeps.map(\.deadline) == [10])
    hand.now = 21
    hand.end(sleeps[0])
    await first.gate.pass()
    await second.gate.pass()
    sleeps = await hand.begun(2)
    #expect(sleeps.map(\.deadline) == [10, 30])
    #expect(!third.hasRung && timers.count == 1)
    hand.now = 30
    hand.end(sleeps[1])
    await third.gate.pass()
    #expect(timers.count == 0)
  }

  @Test func anEarlierDeadlineReplacesTheSleep() async {
    let (late, _) = bell(20)
    _ = await hand.begun(1)
    let (early, _) = bell(5)
    var sleeps = await hand.begun(2)
    #expect(sleeps.map(\.deadline) == [20, 5])
    #expect(hand.sleepers == 1)
    hand.now = 5
    hand.end(sleeps[1])
    await early.gate.pass()
    sleeps = await hand.begun(3)
    #expect(sleeps[2].deadline == 20)
    // The first sleep was cancelled. That it ends has no effect.
    hand.end(sleeps[0])
    #expect(!late.hasRung)
    hand.now = 20
    hand.end(sleeps[2])
    await late.gate.pass()
  }

  @Test func aRemovedAlarmDoesNotRing() async {
    let (gone, ticket) = bell(10)
    let (other, _) = bell(11)
    timers.remove(ticket)
    timers.remove(ticket)
    let sleeps = await hand.begun(1)
    hand.now = 12
    hand.end(sleeps[0])
    await other.gate.pass()
    #expect(!gone.hasRung)
  }

  @Test func aSleepIsAsTolerantAsItsDeadline() async {
    _ = bell(10, slack: 5)
    let sleeps = await hand.begun(1)
    #expect(sleeps[0].deadline == 10 && sleeps[0].slack == 5)
    // Later than the tolerance of the first deadline, which comes first.
    _ = bell(16)
    // Earlier than that.
    _ = bell(14)
    let (second, later) = await (hand.begun(2)[1], hand.begun(2).count)
    #expect(second.deadline == 14 && second.slack == 0 && later == 2)
  }

  /// The machine was suspended: the sleep ends hours after its deadline, when all alarms are due.
  @Test func afterASuspensionOfTheMachineAllAlarmsRing() async {
    let bells = (1...100).map { bell(Int64($0)).0 }
    let (tomorrow, _) = bell(1_000_000)
    let sleeps = await hand.begun(1)
    hand.now = 500_000
    hand.end(sleeps[0])
    for bell in bells { await bell.gate.pass() }
    #expect(await hand.begun(2)[1].deadline == 1_000_000)
    #expect(!tomorrow.hasRung && timers.count == 1)
  }

  /// The clock jumps back during the sleep. The deadline of the sleep is due nevertheless.
  @Test func aClockThatJumpsBackStillRingsTheDueAlarm() async {
    hand.now = 100
    let (due, _) = bell(110)
    let (other, _) = bell(111)
    let sleeps = await hand.begun(1)
    hand.now = 3
    hand.end(sleeps[0])
    await due.gate.pass()
    #expect(!other.hasRung)
    #expect(await hand.begun(2)[1].deadline == 111)
  }

  /// An alarm may run a slow cancellation handler.
  @Test func aSlowAlarmDoesNotDelayOthers() async {
    final class Slow: Alarm {
      let began = Gate()
      let goOn = DispatchGate()
      func ring() {
        began.open()
        goOn.wait()
      }
    }
    let slow = Slow()
    _ = timers.add(1, slack: 0, slow)
    let (other, _) = bell(2)
    let sleeps = await hand.begun(1)
    hand.now = 1
    hand.end(sleeps[0])
    await slow.began.pass()
    let next = await hand.begun(2)[1]
    hand.now = 2
    hand.end(next)
    await other.gate.pass()
    slow.goOn.open()
  }

  @Test func anAlarmIsReleasedAfterItHasRungOrWasRemoved() async {
    weak var rung: Bell?
    weak var removed: Bell?
    do {
      let (first, _) = bell(1)
      let (second, ticket) = bell(2)
      (rung, removed) = (first, second)
      timers.remove(ticket)
      let sleeps = await hand.begun(1)
      hand.now = 1
      hand.end(sleeps[0])
      await first.gate.pass()
    }
    #expect(removed == nil)
    // The task in which it rings ends a moment later.
    while rung != nil { await Task.yield() }
    #expect(timers.count == 0)
    #expect(hand.sleepers == 0)
  }
}
