import Foundation
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
    pause.end(isInWait: false, count.resume)
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

  /// Another job waits on the thread, so the job cannot continue, whatever wakes it.
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
    pause.end(isInWait: false, count.resume)
    #expect(pause.hasBegun == false)
  }

  /// The job's thread waits in a way that is not seen.
  @Test func aJobBecomesParallelOutsideItsWaits() {
    let pause = JobPause()
    let count = Count()
    #expect(pause.becomeParallel(count.pause) == true)
    #expect(count.running == 0 && pause.hasBegun == false)
    #expect(pause.becomeParallel(count.pause) == false)
    pause.resume(count.resume)
    #expect(count.running == 0)
    pause.begin(count.resume)
    #expect(count.running == 1 && pause.hasBegun == true)
    #expect(pause.becomeParallel(count.pause) == false)
    #expect(count.running == 1)
    pause.end(isInWait: false, count.resume)
    // The job also stops being parallel if another job waits on its thread.
    #expect(pause.becomeParallel(count.pause) == true)
    pause.cover(count.pause, count.resume)
    #expect(count.running == 0)
    pause.uncover(count.resume)
    #expect(count.running == 1 && pause.hasBegun == false)
  }

  /// Within its wait, the thread runs a callback, or another thread has taken what it waits for.
  @Test(arguments: [false, true]) func aJobBecomesParallelWithinItsWait(isWokenEarly: Bool) {
    let pause = JobPause()
    let count = Count()
    func beginToWait() {
      pause.begin(count.resume)
      if isWokenEarly { pause.resume(count.resume) }
      pause.countAsPaused(count.pause)
      if !isWokenEarly { #expect(pause.becomeParallel(count.pause) == false) }
      pause.resume(count.resume)
      #expect(count.running == 1 && pause.isPaused == false)
      #expect(pause.becomeParallel(count.pause) == true)
      #expect(count.running == 0 && pause.hasBegun == true && pause.isPaused == false)
    }
    beginToWait()
    pause.resume(count.resume)
    #expect(count.running == 0)
    // The callback waits.
    beginToWait()
    pause.end(isInWait: true, count.resume)
    #expect(count.running == 1 && pause.hasBegun == true)
    #expect(pause.becomeParallel(count.pause) == true)
    // Another job waits in the callback.
    pause.cover(count.pause, count.resume)
    #expect(count.running == 0)
    pause.uncover(count.resume)
    #expect(count.running == 1 && pause.hasBegun == true)
    pause.end(isInWait: false, count.resume)
    #expect(count.running == 1 && pause.hasBegun == false)
  }

  /// What is known of the job changes only after it has been used to count the job.
  @Test func aJobIsNotedWhenItNoLongerCountsAsABlock() {
    let pause = JobPause()
    var calls: [String] = []
    #expect(pause.becomeParallel { calls.append("parallel") })
    pause.begin({ calls.append("running") }, note: { calls.append("noted") })
    #expect(calls == ["parallel", "running", "noted"])
  }

  @Test func aThreadOfABlockBecomesParallelOnlyWhileItCountsAsAJob() {
    let pause = JobPause(isOfBlock: true)
    let count = Count()
    for _ in 0..<2 {
      #expect(pause.becomeParallel(count.pause) == false)
      pause.jobBegins()
      #expect(pause.becomeParallel(count.pause) == true && count.running == 0)
      pause.jobEnds(count.resume)
      #expect(count.running == 1)
    }
  }

  /// Thread A makes thread B's job parallel. Meanwhile B, in a callback of its wait, reads `hasBegun`.
  @Test func aThreadInAWaitStaysInItWhileItsJobBecomesParallel() async {
    final class Job: Sendable {
      let pause = JobPause()
    }
    let job = Job()
    job.pause.begin {}
    job.pause.countAsPaused {}
    job.pause.resume {}
    let hasBegun = await withCheckedContinuation { continuation in
      let isParallel = job.pause.becomeParallel {
        let begun = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          begun.signal()
          continuation.resume(returning: job.pause.hasBegun)
        }
        begun.wait()
        Thread.sleep(forTimeInterval: 0.01)
      }
      #expect(isParallel)
    }
    #expect(hasBegun)
  }

  @Test(arguments: [false, true]) func aJobThatEndsCountsAsRunning(isParallel: Bool) {
    let pause = JobPause()
    let count = Count()
    if isParallel { #expect(pause.becomeParallel(count.pause) == true) }
    pause.jobEnds(count.resume)
    // Its thread was seen waiting before, so this comes too late.
    #expect(pause.becomeParallel(count.pause) == false)
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
