import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

@Suite struct PublishedTimeTests {
  /// Both words of each value are equal.
  @Test func aReadingIsOneOfTheValuesThatWereWritten() {
    let published = Published()
    let (isOver, wrong) = (Tally(), Tally())
    let (hasBegun, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<2 {
      Thread.detachNewThread {
        hasBegun.signal()
        var latest: UInt64 = 0
        while isOver.value == 0 {
          let words = unsafeBitCast(published.duration.value, to: (UInt64, UInt64).self)
          if words.0 != words.1 || words.0 < latest {
            wrong.add()
          }
          latest = words.0
        }
        hasEnded.signal()
      }
    }
    for _ in 0..<2 { hasBegun.wait() }
    for number: UInt64 in 1...500_000 {
      published.duration.write(unsafeBitCast((number, number), to: Duration.self))
    }
    isOver.add()
    for _ in 0..<2 { hasEnded.wait() }
    #expect(wrong.value == 0)
  }

  private final class Published: Sendable {
    let duration = PublishedDuration()
  }

  #if os(Linux) && canImport(Glibc)
    /// On a busy machine, a thread that holds the lock may have no processor for a long time.
    @Test func aReadingIsExactWhileAnotherThreadHoldsTheLock() async throws {
      try await withVirtualTime { _ in
        let (start, startOfDate) = (ContinuousClock.now, Date())
        try await Task.sleep(for: .seconds(3600))
        let scheduler = try #require(Scheduler.running)
        let (isHeld, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
          scheduler.changeWithoutThread { _ in
            isHeld.signal()
            mayLeave.wait()
          }
        }
        isHeld.wait()
        let (present, date) = (ContinuousClock.now, Date())
        mayLeave.signal()
        #expect(present - start == .seconds(3600))
        #expect(date.timeIntervalSince(startOfDate) == 3600)
        scheduler.date += .seconds(60)
        #expect(Date().timeIntervalSince(startOfDate) == 3660)
      }
    }
  #endif
}
