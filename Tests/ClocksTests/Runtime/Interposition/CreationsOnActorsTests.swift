#if os(Linux) && canImport(Glibc)
  import Foundation
  import TestTraits
  import Testing

  @testable import Clocks

  @Suite struct CreationsOnActorsTests {
    /// On a busy machine, the thread that creates a task may have no processor for a long time.
    ///
    /// In a process of its own, because the creation delays all tests.
    @Test func aThreadWaitsForACreationThatTakesLong() async {
      await #expect(processExitsWith: .success) {
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let hasEnded = Tally()
        Thread.detachNewThread {
          CreationsOnActors.during {
            hasBegun.signal()
            mayEnd.wait()
            usleep(300_000)
            hasEnded.add()
          }
        }
        hasBegun.wait()
        CreationsOnActors.awaitEnd(of: .max, mayGiveUp: true)
        #expect(hasEnded.value == 0)
        mayEnd.signal()
        CreationsOnActors.awaitEnd(of: .max)
        #expect(hasEnded.value == 1)
      }
    }
  }
#endif
