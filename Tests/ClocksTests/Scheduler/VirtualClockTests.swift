import ClocksSearch
import Testing

@testable import Clocks

/// Tests `VirtualClock` and the queues of sleeps, waiters and jobs, mostly without a public clock.
@Suite struct VirtualClockTests {
  @Test func timeDoesNotGoBackToADeadlineInThePast() throws {
    let virtualClock = VirtualClock(now: .seconds(5))
    // As if a thread outside the test had registered the sleep while time moved.
    virtualClock.sleeps.add(
      .job(.none), until: .seconds(3),
      details: .init(registered: .seconds(5), clock: .test))
    let sleeper = virtualClock.popEarliest(dueBy: .seconds(5), Order())
    #expect(sleeper != nil)
    #expect(virtualClock.now == .seconds(5))
  }

  @Test func advanceToNextSleepDoesNotGoBackEither() async throws {
    let clock = TestClock(now: .init(offset: .seconds(5)))
    let sleeper = Task {
      try await withUnsafeThrowingContinuation { continuation in
        clock.scheduler.change { _ in
          _ = clock.virtualClock.sleeps.add(
            .continuation(continuation, isOwn: true), until: .seconds(3),
            details: .init(registered: .seconds(5), clock: .test))
        }
      }
    }
    #expect(await clock.advanceToNextSleep()?.offset == .seconds(5))
    #expect(clock.now.offset == .seconds(5))
    try await sleeper.value
  }

  @Test func aWaiterThatHasEndedIsReleased() async throws {
    let clock = TestClock()
    let waiting = Task { try await clock.waitForSleeps(atLeast: 1) }
    let more = Task { try await clock.waitForSleeps(atLeast: 2) }
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    try await waiting.value
    #expect(clock.scheduler.change { _ in clock.virtualClock.waiters.count } == 1)
    more.cancel()
    await #expect(throws: CancellationError.self) { try await more.value }
    #expect(clock.scheduler.change { _ in clock.virtualClock.waiters.count } == 0)
    sleeper.cancel()
  }

  @Test func waitersForSleepsAreTakenInTheOrderOfArrival() {
    let virtualClock = VirtualClock(now: .zero)
    let waiters = (0..<8).map { _ in SleepsWaiter(count: 1) }
    for waiter in waiters { #expect(virtualClock.add(waiter)) }
    let continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, any Error>.self)
    virtualClock.sleeps.add(
      .continuation(continuation, isOwn: true), until: .seconds(1),
      details: .init(registered: .zero, clock: .test))
    let fulfilled = virtualClock.takeFulfilledWaiters()
    #expect(fulfilled.map { ObjectIdentifier($0) } == waiters.map { ObjectIdentifier($0) })
    #expect(virtualClock.takeFulfilledWaiters().isEmpty)
  }

  /// The key of a custom duration says nothing of its length.
  @Test func aSleepOfACustomDurationIsDueAtItsDeadline() {
    let virtualClock = VirtualClock.starting(at: Minutes.zero)
    for count in [10, 1] as [Double] {
      virtualClock.sleeps.add(
        .job(.none), until: virtualClock.key(for: Minutes(count: count)),
        details: .init(registered: .zero, clock: .test))
    }
    virtualClock.move(to: virtualClock.key(for: Minutes(count: 1)))
    let due = virtualClock.dueLines()
    #expect(due.count == 1 && due.first?.contains("until Minutes(count: 1.0)") == true, "\(due)")
  }

  @Test func aSleepDoesNotKeepTheNameOfAnEarlierOne() {
    let virtualClock = VirtualClock(now: .zero)
    let continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, any Error>.self)
    for name in ["first", nil] {
      virtualClock.sleeps.add(
        .continuation(continuation, isOwn: true), until: .seconds(1),
        name: name, details: .init(registered: .zero, clock: .test))
      #expect(virtualClock.sleeps.pending.map(\.taskName) == [name])
      _ = virtualClock.sleeps.popEarliest()
    }
  }

  @Test func jobsKeepTheirOrderWhereverOneIsRemoved() {
    var queue = JobQueue()
    var expected: [UInt64] = []
    var next: UInt64 = 0
    var random = Mixer(seed: 1)
    for _ in 0..<10_000 {
      if expected.isEmpty || Int.random(in: 0..<100, using: &random) < 52 {
        next += 1
        if Int.random(in: 0..<8, using: &random) == 0 {
          queue.prepend(ReadyJob(of: next))
          expected.insert(next, at: 0)
        } else {
          queue.append(ReadyJob(of: next))
          expected.append(next)
        }
      } else {
        let position = Int.random(in: 0..<expected.count, using: &random)
        #expect(queue.remove(at: position).taskID == expected.remove(at: position))
      }
      #expect(queue.count == expected.count && queue.isEmpty == expected.isEmpty)
      if queue.count % 50 == 0 { queue.checkInvariants() }
    }
    #expect(expected.indices.allSatisfy { queue[$0].taskID == expected[$0] })
    #expect(expected.count > 64)
  }

  /// The capacity from which an empty queue frees its memory is exceeded in each of the rounds.
  @Test func aQueueOfManyJobsCanBeFilledAgain() {
    var queue = JobQueue()
    for _ in 0..<3 {
      for number in 1...5000 { queue.append(ReadyJob(of: UInt64(number))) }
      queue.checkInvariants()
      let taken = (1...5000).map { _ in queue.remove(at: 0).taskID }
      #expect(taken == Array(1...5000))
      #expect(queue.count == 0 && queue.isEmpty)
      queue.checkInvariants()
    }
  }

  @Test func aDelayThatIsALittleTooShortIsRoundedUp() {
    for (measured, meant): (Duration, Duration) in [
      (.seconds(1) - .microseconds(40), .seconds(1)),
      (.seconds(3600) - .microseconds(3), .seconds(3600)),
      (.milliseconds(50) - .nanoseconds(700), .milliseconds(50)),
      (.microseconds(1) - .nanoseconds(1), .microseconds(1)),
      (.milliseconds(1234), .milliseconds(1234)),
      (.zero, .zero),
      (.seconds(-1), .seconds(-1)),
    ] {
      #expect(measured.roundedUpAfterReadingTheClockTwice == meant)
    }
    let endless: Duration = .seconds(Int64.max) * 18
    #expect(endless.roundedUpAfterReadingTheClockTwice == endless)
  }
}
