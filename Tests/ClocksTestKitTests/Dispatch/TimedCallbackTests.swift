import Clocks
import ClocksTestKit
import Dispatch
import TestTraits
import Testing

/// Timed callbacks of Dispatch, which begin at their virtual instants in a scope.
@Suite struct TimedCallbackTests {
  private let queue = DispatchQueue(label: "later")

  @Test(.repeated(20), .virtualTime) func asyncAfter() async throws {
    let start = ContinuousClock.now
    let log = Log<String>()
    queue.asyncAfter(deadline: .now() + 2) {
      takeTime()
      log.add("deadline", since: start)
      dispatchPrecondition(condition: .onQueue(queue))
    }
    queue.asyncAfter(wallDeadline: .now() + 1) { log.add("wall", since: start) }
    queue.asyncAfter(deadline: .now() + .seconds(3), qos: .utility, flags: .barrier) {
      takeTime()
      log.add("flags", since: start)
    }
    queue.asyncAfter(
      deadline: .now() + .milliseconds(2500),
      execute: DispatchWorkItem { log.add("item", since: start) })
    let cancelled = DispatchWorkItem { log.add("never") }
    queue.asyncAfter(deadline: .now() + 0.5, execute: cancelled)
    cancelled.cancel()
    queue.asyncAfter(deadline: .now()) { log.add("now", since: start) }
    queue.asyncAfter(deadline: .now() - 5) { log.add("past", since: start) }
    queue.asyncAfter(deadline: .distantFuture) { log.add("never") }
    try await Task.sleep(for: .seconds(2))
    log.add("test", since: start)
    try await Task.sleep(for: .seconds(10))
    #expect(
      log.all == [
        "now 0.0", "past 0.0", "wall 1.0", "deadline 2.0", "test 2.0", "item 2.5", "flags 3.0",
      ])
  }

  /// At one instant sleeps and callbacks come in the order in which they were registered.
  @Test(.repeated(20), .virtualTime) func inOrderWithTheSleeps() async throws {
    let log = Log<String>()
    for number in 0..<5 {
      queue.asyncAfter(deadline: .now() + 1) {
        takeTime()
        log.add("work \(number)")
        Task { log.add("task of \(number)") }
      }
      Task {
        try await Task.sleep(for: .seconds(1))
        log.add("sleep \(number)")
      }
      await VirtualTime.current?.settle()
    }
    try await Task.sleep(for: .seconds(2))
    #expect(
      log.all == (0..<5).flatMap { ["work \($0)", "task of \($0)", "sleep \($0)"] })
  }

  @Test(.repeated(10), .virtualTime) func aTimer() async throws {
    let start = ContinuousClock.now
    let log = Log<String>()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler {
      takeTime()
      dispatchPrecondition(condition: .onQueue(queue))
      log.add("tick", since: start)
    }
    timer.setCancelHandler {
      takeTime()
      log.add("cancelled", since: start)
    }
    timer.schedule(deadline: .now() + 1, repeating: .seconds(2), leeway: .seconds(1))
    timer.resume()
    try await Task.sleep(for: .seconds(6))
    log.add("test", since: start)
    timer.suspend()
    try await Task.sleep(for: .seconds(5))
    log.add("resumed", since: start)
    timer.resume()
    await VirtualTime.current?.settle()
    log.add("settled", since: start)
    try await Task.sleep(for: .seconds(3))
    timer.schedule(deadline: .now() + 0.25)
    try await Task.sleep(for: .seconds(10))
    timer.schedule(wallDeadline: .now() + 0.5, repeating: 0.5)
    try await Task.sleep(for: .seconds(1.25))
    timer.cancel()
    await VirtualTime.current?.settle()
    try await Task.sleep(for: .seconds(10))
    #expect(
      log.all == [
        "tick 1.0", "tick 3.0", "tick 5.0", "test 6.0", "resumed 11.0", "tick 11.0", "settled 11.0",
        "tick 13.0", "tick 14.25", "tick 24.5", "tick 25.0", "cancelled 25.25",
      ])
  }

  /// A timer that is set again has one pending sleep, and a timer that does not run has none.
  @Test(.virtualTime) func aTimerThatIsSetAgain() async throws {
    let time = try #require(VirtualTime.current)
    let start = ContinuousClock.now
    let log = Log<String>()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { log.add("tick", since: start) }
    timer.schedule(deadline: .now() + 1)
    #expect(time.clock.pendingSleeps.count == 0)
    timer.activate()
    #expect(time.clock.pendingSleeps.count == 1)
    timer.schedule(deadline: .now() + 5)
    #expect(time.clock.pendingSleeps.map(\.deadline.offset) == [.seconds(5)])
    timer.suspend()
    #expect(time.clock.pendingSleeps.count == 0)
    timer.resume()
    try await Task.sleep(for: .seconds(10))
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.cancel()
    #expect(time.clock.pendingSleeps.count == 0)
    try await Task.sleep(for: .seconds(10))
    #expect(log.all == ["tick 5.0"])
  }

  /// A timed callback is not a sleep of a task, so it does not count as a leftover.
  @Test func aTimedCallbackIsNotALeftover() async throws {
    try await withVirtualTime(leftoverSleeps: .fail) { time in
      queue.asyncAfter(deadline: .now() + 3600) {}
      #expect(time.clock.pendingSleeps.count == 1)
    }
  }

  @Test(.virtualTime) func aReleasedTimerDoesNotFireAgain() async throws {
    let ticks = Tally()
    var timer: (any DispatchSourceTimer)? = DispatchSource.makeTimerSource(queue: queue)
    timer?.setEventHandler { ticks.add() }
    timer?.schedule(deadline: .now() + 1, repeating: 1)
    timer?.activate()
    try await Task.sleep(for: .seconds(3.5))
    #expect(ticks.value == 3)
    timer = nil
    try await Task.sleep(for: .seconds(3))
    #expect(ticks.value == 3)
    #expect(VirtualTime.current?.clock.pendingSleeps.count == 0)
  }

  /// The queue is suspended, so the handlers are removed after they are due, and before they could run.
  @Test(.virtualTime) func aTimerWhoseHandlersAreRemoved() async throws {
    let queue = DispatchQueue(label: "suspended")
    queue.suspend()
    let timers = (0..<2).map { _ in DispatchSource.makeTimerSource(queue: queue) }
    for timer in timers {
      timer.setEventHandler {}
      timer.setCancelHandler {}
      timer.schedule(deadline: .now())
      timer.resume()
    }
    timers[0].setEventHandler(handler: nil)
    timers[1].cancel()
    timers[1].setCancelHandler(handler: nil)
    queue.resume()
    try await Task.sleep(for: .seconds(1))
    #expect(VirtualTime.current?.now.offset == .seconds(1))
  }

  @Test(.repeated(10), .virtualTime) func aHandlerThatCancelsItsTimer() async throws {
    let start = ContinuousClock.now
    let timer = DispatchSource.makeTimerSource()
    let times = await withCheckedContinuation { continuation in
      let ticks = Log<String>()
      timer.setEventHandler {
        ticks.add("tick", since: start)
        guard ticks.all.count == 3 else { return }
        timer.cancel()
        continuation.resume(returning: ticks.all)
      }
      timer.schedule(deadline: .now() + 60, repeating: 60)
      timer.resume()
    }
    #expect(times == ["tick 60.0", "tick 120.0", "tick 180.0"])
    #expect(VirtualTime.current?.now.offset == .seconds(180))
  }

  /// Callbacks after delays, as code without async functions uses them.
  @Test(.repeated(20), .virtualTime) func callbacksAfterDelays() async throws {
    for second in 1...10 {
      await withCheckedContinuation { continuation in
        queue.asyncAfter(deadline: .now() + 1) {
          takeTime()
          queue.asyncAfter(deadline: .now() + 2) { continuation.resume() }
        }
      }
      #expect(VirtualTime.current?.now.offset == .seconds(3 * second))
    }
  }

  @Test(.virtualTime(autoAdvance: false)) func byHand() async throws {
    let time = try #require(VirtualTime.current)
    let ticks = Tally()
    queue.asyncAfter(deadline: .now() + 3) {
      takeTime()
      ticks.add()
    }
    #expect(
      time.clock.pendingSleeps.map(\.description) == [
        "until 3.0 seconds, since 0.0 seconds, queue \"later\""
      ])
    await time.advance(by: .seconds(2.5))
    #expect(ticks.value == 0)
    #expect(await time.advanceToNextSleep() == .init(offset: .seconds(3)))
    #expect(ticks.value == 1)
    #expect(await time.advanceToNextSleep() == nil)
  }

  @Test(.virtualTime) func dispatchTime() async throws {
    let before = (DispatchTime.now(), DispatchWallTime.now(), ContinuousClock.now)
    try await Task.sleep(for: .seconds(3600))
    #expect(DispatchTime.now() == before.0 + 3600)
    #expect(DispatchWallTime.now() == before.1 + 3600)
    #expect(DispatchTime.now() == before.0 + .nanoseconds(3_600_000_000_000))
    #expect(ContinuousClock.now == before.2 + .seconds(3600))
    let uptime = DispatchTime.now().uptimeNanoseconds
    #expect(uptime - before.0.uptimeNanoseconds == 3_600_000_000_000)
  }

  /// `holding` keeps virtual time from moving, so delays are real in its body.
  @Test(.repeated(20), .virtualTime) func delaysOfHeldWorkAreReal() async throws {
    let time = try #require(VirtualTime.current)
    let start = realNow()
    queue.asyncAfter(deadline: .now() + 7200) {}
    await time.holding {
      await withCheckedContinuation { continuation in
        queue.asyncAfter(deadline: .now() + 0.002) { continuation.resume() }
      }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      await withCheckedContinuation { continuation in
        var left = 3
        timer.setEventHandler {
          left -= 1
          if left == 0 { continuation.resume() }
        }
        timer.schedule(deadline: .now() + 0.001, repeating: 0.001)
        timer.resume()
      }
      timer.cancel()
    }
    #expect(realNow() - start >= .milliseconds(5))
    #expect(time.now.offset == .zero)
    try await Task.sleep(for: .seconds(7199))
    #expect(time.clock.pendingSleeps.count == 1)
  }

  /// Callbacks that are pending when the scope ends begin in real time.
  @Test(.blocksAThread, arguments: 0..<5) func callbacksThatAScopeLeavesBehind(_: Int) async throws
  {
    let ended = DispatchSemaphore(value: 0)
    let timer = DispatchSource.makeTimerSource(queue: queue)
    try await withVirtualTime { _ in
      queue.asyncAfter(deadline: .now() + 0.01) { ended.signal() }
      timer.setEventHandler { ended.signal() }
      timer.schedule(deadline: .now() + 0.02, repeating: 3600)
      timer.resume()
    }
    for _ in 0..<2 { #expect(waited(for: ended)) }
    timer.cancel()
  }

  /// Without a scope delays are real, and a test with pending delays is idle. The blocks still belong to the
  /// test.
  @Test func onATestClockDelaysAreReal() async throws {
    let clock = TestClock()
    let log = Log<String>()
    // Suspended, so that the block begins after the advance, on a slow machine, too.
    queue.suspend()
    queue.asyncAfter(deadline: .now() + 0.02) {
      Task {
        log.add("began at \(clock.now)")
        try await clock.sleep(for: .seconds(1))
        log.add("slept until \(clock.now)")
      }
    }
    await clock.advance(by: .seconds(5))
    #expect(clock.now.offset == .seconds(5))
    queue.resume()
    try await clock.waitForSleeps(timeout: .seconds(600))
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["began at 5.0 seconds", "slept until 6.0 seconds"])
  }
}
