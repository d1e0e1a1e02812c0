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
      var requests = IdleWaiters()
      #expect(requests.isEmpty == true)
      requests.append(waiter)
      #expect(requests.isEmpty == false)
      requests.remove(waiter)
      #expect(requests.isEmpty == true)
    }
  }

  @Test func theOrderAmongThoseWhoWait() {
    var requests = IdleWaiters()
    let settle = IdleWaiter(isOwn: true)
    let advance = Advance(virtualClock, isOwn: true, .instant(.zero))
    let (behind, ahead) = (observer(after: nil), observer())
    requests.append(ahead)
    requests.append(advance)
    requests.append(settle)
    requests.append(behind)
    for waiter in [behind, settle, advance, ahead] {
      #expect(requests.first(scopeMovesTime: true) === waiter)
      requests.remove(waiter)
    }
    #expect(requests.first(scopeMovesTime: true) == nil)
  }

  @Test func onlyPacedObserversWaitForTheScope() {
    var requests = IdleWaiters()
    let (paced, free) = (observer(isPaced: true), observer())
    requests.append(paced)
    #expect(requests.first(scopeMovesTime: true) == nil)
    #expect(requests.first(scopeMovesTime: false) === paced)
    requests.append(free)
    #expect(requests.first(scopeMovesTime: true) === free)
    #expect(requests.first(scopeMovesTime: false) === paced)
  }

  @Test func anObserverThatMissedAJobFromOutsideLooksToo() {
    var requests = IdleWaiters()
    let there = observer()
    requests.append(there)
    #expect(!there.mustLook)
    requests.jobCameFromOutside()
    #expect(requests.jobsFromOutside == 1)
    #expect(there.mustLook)
    #expect(there.isBehind)
    let (missed, seen) = (observer(), observer(jobsFromOutside: 1))
    requests.append(missed)
    requests.append(seen)
    #expect(missed.mustLook)
    #expect(!seen.mustLook)
  }

  @Test func aLongQueueKeepsItsOrder() {
    var queue = WaiterQueue()
    let waiters = (0..<100).map { _ in IdleWaiter(isOwn: true) }
    for waiter in waiters { queue.append(waiter) }
    for position in 0..<100 {
      #expect(queue.first === waiters[position])
      #expect(queue.all.count == 100 - position)
      queue.remove(waiters[position])
    }
    #expect(queue.first == nil)
    queue.append(waiters[3])
    #expect(queue.first === waiters[3])
  }
}
