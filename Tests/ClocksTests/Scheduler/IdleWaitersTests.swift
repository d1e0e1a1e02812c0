import ClocksSearch
import Testing

@testable import Clocks

/// The queue of waits for idleness and its order, tested as a value.
@Suite struct IdleWaitersTests {
  private let virtualClock = VirtualClock(now: .zero)

  private func observer(
    after known: Duration? = .zero, isPaced: Bool = false, jobsFromOutside: UInt64 = 0
  ) -> VirtualClockObserver {
    VirtualClockObserver(
      virtualClock, isOwn: true, isPaced: isPaced, after: known, jobsFromOutside: jobsFromOutside,
      upTo: .seconds(9))
  }

  @Test func eachKindOfWaiterCounts() {
    let advance = Advance(virtualClock, isOwn: true, .instant(.zero))
    for waiter in [IdleWaiter(isOwn: true), advance, observer()] {
      var waiters = IdleWaiters()
      #expect(waiters.isEmpty == true)
      waiters.append(waiter)
      #expect(waiters.isEmpty == false)
      waiters.remove(waiter)
      #expect(waiters.isEmpty == true)
    }
  }

  @Test func waitersAreServedByKind() {
    var waiters = IdleWaiters()
    let settle = IdleWaiter(isOwn: true)
    let advance = Advance(virtualClock, isOwn: true, .instant(.zero))
    let (behind, ahead) = (observer(after: nil), observer())
    waiters.append(ahead)
    waiters.append(advance)
    waiters.append(settle)
    waiters.append(behind)
    for waiter in [behind, settle, advance, ahead] {
      #expect(waiters.first(scopeMovesTime: true) === waiter)
      waiters.remove(waiter)
    }
    #expect(waiters.first(scopeMovesTime: true) == nil)
  }

  /// A comparison of all clocks with each other would take hours.
  @Test(.timeLimit(.minutes(10))) func theFirstOfManyClocksIsFoundInLinearTime() {
    var waiters = IdleWaiters()
    for number in (1...10_000).reversed() {
      let virtualClock = VirtualClock(now: .zero)
      for target in [number, 0] {
        waiters.append(Advance(virtualClock, isOwn: true, .instant(.seconds(target))))
      }
    }
    for _ in 0..<20 {
      let first = waiters.first(scopeMovesTime: false) as? Advance
      #expect(first === waiters.advances.all[19_998])
    }
    // One after another: the release of the whole list would be a deep recursion.
    while let first = waiters.advances.first { waiters.remove(first) }
  }

  @Test func onlyPacedObserversWaitForTheScope() {
    var waiters = IdleWaiters()
    let (paced, free) = (observer(isPaced: true), observer())
    waiters.append(paced)
    #expect(waiters.first(scopeMovesTime: true) == nil)
    #expect(waiters.first(scopeMovesTime: false) === paced)
    waiters.append(free)
    #expect(waiters.first(scopeMovesTime: true) === free)
    #expect(waiters.first(scopeMovesTime: false) === paced)
  }

  @Test func anObserverThatMissedAJobFromOutsideChecksToo() {
    var waiters = IdleWaiters()
    let there = observer()
    waiters.append(there)
    #expect(!there.mustCheck)
    waiters.jobCameFromOutside()
    #expect(waiters.jobsFromOutside == 1)
    #expect(there.mustCheck)
    #expect(there.isBehind)
    let (missed, seen) = (observer(), observer(jobsFromOutside: 1))
    waiters.append(missed)
    waiters.append(seen)
    #expect(missed.mustCheck)
    #expect(!seen.mustCheck)
  }

  @Test func waitersKeepTheirOrder() {
    var queue = WaiterQueue()
    var expected: [IdleWaiter] = []
    var random = Mixer(seed: 1)
    for _ in 0..<10_000 {
      if expected.isEmpty || Int.random(in: 0..<100, using: &random) < 51 {
        expected.append(IdleWaiter(isOwn: true))
        queue.append(expected[expected.count - 1])
      } else {
        let waiter = expected.removeFirst()
        #expect(queue.first === waiter)
        queue.remove(waiter)
      }
      #expect((queue.first == nil) == expected.isEmpty)
      #expect(queue.all.count == expected.count)
    }
  }
}
