import Dispatch
import TestTraits
import Testing

@testable import TimeoutTask

/// The shared timers, on a clock for which the test decides the reading and when each sleep ends.
@Suite struct SharedTimersTests {
  /// A clock whose sleeps end when the test ends them, or when they are cancelled.
  private final class ManualClock: Sendable {
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

    /// Waits until so many sleeps have begun, and returns them. Throws an error after 300 seconds.
    func begun(_ count: Int) async throws -> [SharedTimers.Sleep] {
      try await TimeoutTask(seconds: 300, name: "wait until sleep \(count) has begun") {
        await withUnsafeContinuation { continuation in
          let isThere = self.state.withLock { state in
            if state.begun.count < count { state.observer = (count, continuation) }
            return state.begun.count >= count
          }
          if isThere { continuation.resume() }
        }
      }.value
      return state.withLock { $0.begun }
    }

    var sleepers: Int { state.withLock { $0.sleeps.count } }

    /// Lets all deadlines pass. Then the task that sleeps ends.
    func finish() {
      let sleeps = state.withLock { state in
        defer { state.sleeps = [:] }
        state.now = .max
        return state.sleeps
      }
      for continuation in sleeps.values { continuation.resume() }
    }
  }

  private final class RecordedAlarm: Alarm {
    let gate = Gate()
    let released = Gate()
    func ring() { gate.open() }
    var hasRung: Bool { !gate.isClosed }
    /// Waits until the alarm rings. Returns `false` after 300 seconds.
    var rings: Bool { get async { await gate.opens } }
    deinit { released.open() }
  }

  private let clock = ManualClock()
  private let timers: SharedTimers

  init() {
    timers = SharedTimers(
      now: { [clock] in clock.now }, sleep: { [clock] in await clock.sleep($0) })
  }

  private func alarm(_ deadline: Int64, slack: Int64 = 0) -> (RecordedAlarm, TimerHeap.Ticket) {
    let alarm = RecordedAlarm()
    return (alarm, timers.add(deadline, slack: slack, alarm))
  }

  @Test func oneSleepAtATimeServesManyDeadlines() async throws {
    let (first, _) = alarm(10)
    let (second, _) = alarm(20)
    let (third, _) = alarm(30)
    var sleeps = try await clock.begun(1)
    #expect(sleeps.map(\.deadline) == [10])
    clock.now = 21
    clock.end(sleeps[0])
    #expect(await first.rings)
    #expect(await second.rings)
    sleeps = try await clock.begun(2)
    #expect(sleeps.map(\.deadline) == [10, 30])
    #expect(!third.hasRung && timers.count == 1)
    clock.now = 30
    clock.end(sleeps[1])
    #expect(await third.rings)
    #expect(timers.count == 0)
  }

  @Test func anEarlierDeadlineReplacesTheSleep() async throws {
    let (late, _) = alarm(20)
    _ = try await clock.begun(1)
    let (early, _) = alarm(5)
    var sleeps = try await clock.begun(2)
    #expect(sleeps.map(\.deadline) == [20, 5])
    #expect(clock.sleepers == 1)
    clock.now = 5
    clock.end(sleeps[1])
    #expect(await early.rings)
    sleeps = try await clock.begun(3)
    #expect(sleeps[2].deadline == 20)
    // The first sleep was cancelled. That it ends has no effect.
    clock.end(sleeps[0])
    #expect(!late.hasRung)
    clock.now = 20
    clock.end(sleeps[2])
    #expect(await late.rings)
  }

  @Test func aRemovedAlarmDoesNotRing() async throws {
    let (gone, ticket) = alarm(10)
    let (other, _) = alarm(11)
    timers.remove(ticket)
    timers.remove(ticket)
    let sleeps = try await clock.begun(1)
    clock.now = 12
    clock.end(sleeps[0])
    #expect(await other.rings)
    #expect(!gone.hasRung)
  }

  @Test func aSleepIsAsTolerantAsItsDeadline() async throws {
    defer { clock.finish() }
    _ = alarm(10, slack: 5)
    let sleeps = try await clock.begun(1)
    #expect(sleeps[0].deadline == 10 && sleeps[0].slack == 5)
    // The sleep ends at 15 at the latest: in time for this alarm.
    _ = alarm(16)
    // Too late for this one, which needs an earlier sleep.
    _ = alarm(14)
    let begun = try await clock.begun(2)
    #expect(begun[1].deadline == 14 && begun[1].slack == 0 && begun.count == 2)
  }

  /// The machine was suspended: the sleep ends hours after its deadline, when all alarms are due.
  @Test func afterASuspensionOfTheMachineAllAlarmsRing() async throws {
    defer { clock.finish() }
    let alarms = (1...100).map { alarm(Int64($0)).0 }
    let (tomorrow, _) = alarm(1_000_000)
    let sleeps = try await clock.begun(1)
    clock.now = 500_000
    clock.end(sleeps[0])
    for alarm in alarms { try #require(await alarm.rings) }
    #expect(try await clock.begun(2)[1].deadline == 1_000_000)
    #expect(!tomorrow.hasRung && timers.count == 1)
  }

  /// The clock jumps back during the sleep. The deadline of the sleep is due nevertheless.
  @Test func aClockThatJumpsBackStillRingsTheDueAlarm() async throws {
    defer { clock.finish() }
    clock.now = 100
    let (due, _) = alarm(110)
    let (other, _) = alarm(111)
    let sleeps = try await clock.begun(1)
    clock.now = 3
    clock.end(sleeps[0])
    #expect(await due.rings)
    #expect(!other.hasRung)
    #expect(try await clock.begun(2)[1].deadline == 111)
  }

  /// An alarm may run a slow cancellation handler.
  @Test(.blocksAThread) func aSlowAlarmDoesNotDelayOthers() async throws {
    final class Slow: Alarm {
      let began = Gate()
      let goOn = DispatchSemaphore(value: 0)
      func ring() {
        began.open()
        goOn.wait()
      }
    }
    let slow = Slow()
    defer { slow.goOn.signal() }
    _ = timers.add(1, slack: 0, slow)
    let (other, _) = alarm(2)
    let sleeps = try await clock.begun(1)
    clock.now = 1
    clock.end(sleeps[0])
    #expect(await slow.began.opens)
    let next = try await clock.begun(2)[1]
    clock.now = 2
    clock.end(next)
    #expect(await other.rings)
  }

  @Test func anAlarmIsReleasedAfterItHasRungOrWasRemoved() async throws {
    let released: Gate
    weak var removed: RecordedAlarm?
    do {
      let (first, _) = alarm(1)
      let (second, ticket) = alarm(2)
      (released, removed) = (first.released, second)
      timers.remove(ticket)
      let sleeps = try await clock.begun(1)
      clock.now = 1
      clock.end(sleeps[0])
      #expect(await first.rings)
    }
    #expect(removed == nil)
    // The task in which it rings ends a moment later.
    #expect(await released.opens)
    #expect(timers.count == 0)
    #expect(clock.sleepers == 0)
  }
}

extension Gate {
  /// Waits until the gate is open. Returns `false` after 300 seconds.
  fileprivate var opens: Bool {
    get async { (try? await TimeoutTask(seconds: 300) { await self.pass() }.value) != nil }
  }
}
