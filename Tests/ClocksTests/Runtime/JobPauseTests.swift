import Testing

@testable import Clocks

@Suite struct JobPauseTests {
  /// Counts a job: 1 while it counts as running, and 0 while it counts as paused.
  private final class Count {
    var running = 1
    func pause() { running -= 1 }
    func resume() { running += 1 }
  }

  @Test func aPauseCountsOnce() {
    let pause = JobPause()
    let count = Count()
    #expect(pause.hasBegun == false)
    pause.begin {}
    #expect(pause.hasBegun == true && count.running == 1)
    pause.countAsPaused(count.pause)
    #expect(count.running == 0)
    for _ in 0..<2 {
      pause.resume(count.resume)
      #expect(count.running == 1)
    }
    pause.end(isInWait: false)
    #expect(pause.hasBegun == false)
  }

  @Test func aJobThatIsWokenEarlyDoesNotPause() {
    let pause = JobPause()
    let count = Count()
    pause.begin {}
    pause.resume(count.resume)
    pause.countAsPaused(count.pause)
    #expect(count.running == 1)
    // Its thread runs callbacks meanwhile, which may wait.
    pause.cover(count.pause, {})
    #expect(count.running == 0)
    pause.uncover(count.resume)
    pause.resume(count.resume)
    #expect(count.running == 1)
  }

  /// Another job waits on the thread, so the job cannot go on, whatever wakes it.
  @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
  func aCoveredJobCountsAsPaused(isWokenBefore: Bool, isWokenMeanwhile: Bool) {
    let pause = JobPause()
    let count = Count()
    pause.begin {}
    pause.countAsPaused(count.pause)
    if isWokenBefore { pause.resume(count.resume) }
    pause.cover(count.pause, {})
    #expect(count.running == 0)
    if isWokenMeanwhile { pause.resume(count.resume) }
    #expect(count.running == 0)
    pause.uncover(count.resume)
    #expect(count.running == (isWokenBefore || isWokenMeanwhile ? 1 : 0))
    pause.resume(count.resume)
    #expect(count.running == 1)
    pause.end(isInWait: false)
    #expect(pause.hasBegun == false)
  }

  /// The job's thread waits in a way that is not seen.
  @Test func aJobBecomesParallelOutsideItsWaits() {
    let pause = JobPause()
    let count = Count()
    pause.becomeParallel(count.pause)
    #expect(count.running == 0 && pause.hasBegun == false)
    pause.becomeParallel(count.pause)
    pause.resume(count.resume)
    #expect(count.running == 0)
    pause.begin(count.resume)
    #expect(count.running == 1 && pause.hasBegun == true)
    pause.becomeParallel(count.pause)
    #expect(count.running == 1)
    pause.end(isInWait: false)
    // Another job that waits on the thread ends that, too.
    pause.becomeParallel(count.pause)
    pause.cover(count.pause, count.resume)
    #expect(count.running == 0)
    pause.uncover(count.resume)
    #expect(count.running == 1 && pause.hasBegun == false)
  }

  @Test(arguments: [false, true]) func aJobThatEndsCountsAsRunning(isParallel: Bool) {
    let pause = JobPause()
    let count = Count()
    if isParallel { pause.becomeParallel(count.pause) }
    pause.jobEnds(count.resume)
    // Its thread was seen waiting before, so this comes too late.
    pause.becomeParallel(count.pause)
    pause.jobEnds(count.resume)
    #expect(count.running == 1 && pause.hasBegun == false)
  }

  @Test func aRunningJobIsCovered() {
    let pause = JobPause()
    let count = Count()
    pause.cover(count.pause, {})
    pause.resume(count.resume)
    #expect(count.running == 0)
    pause.uncover(count.resume)
    #expect(count.running == 1 && pause.hasBegun == false)
  }
}
