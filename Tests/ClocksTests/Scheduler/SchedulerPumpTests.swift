import Dispatch
import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

/// How a scheduler uses the threads of the pool.
@Suite struct SchedulerPumpTests {
  /// There are more tests than the pool has threads, and then comes a task that none of them owns.
  @Test func testsThatAlwaysHaveReadyJobsLeaveTheirThreadsToOthers() async {
    await #expect(processExitsWith: .success) {
      alarm(300)
      let count = ProcessInfo.processInfo.activeProcessorCount + 1
      let (begun, isOver) = (Tally(), Tally())
      await withTaskGroup { group in
        for _ in 0..<count {
          group.addTask {
            let clock = TestClock()
            Task {
              begun.add()
              while isOver.value == 0 { await Task.yield() }
            }
            await clock.settle()
          }
        }
        onAThread {
          while begun.value < count { usleep(1_000) }
          Task { isOver.add() }
        }
      }
    }
  }

  @Test func theResultOfADiscardedTaskIsFreedBeforeTimeMoves() async {
    final class Result: Sendable {
      let continuation: CheckedContinuation<Void, Never>
      init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
      deinit { continuation.resume() }
    }
    let clock = TestClock()
    final class Kept: Sendable {
      let result = Mutex<Result?>(nil)
    }
    let (kept, woken) = (Kept(), Tally())
    let sleeper = Task {
      await withCheckedContinuation { continuation in
        kept.result.withLock { $0 = Result(continuation) }
      }
      try? await clock.sleep(for: .seconds(1))
      woken.add()
    }
    await clock.settle()
    Task { kept.result.withLock { $0.take() } }
    await clock.advance(by: .seconds(1))
    #expect(woken.value == 1)
    await clock.advance(by: .seconds(1))
    await sleeper.value
  }

  /// The thread was requested before the pool was known to be blocked, by jobs that loop.
  @Test func aTestWhoseThreadDoesNotComeGetsAnother() async {
    await #expect(processExitsWith: .success) {
      let (suspended, resume) = (Tally(), DispatchSemaphore(value: 0))
      let (looping, hasRun, isOver) = (Tally(), Tally(), Tally())
      let test = Task.detached {
        let clock = TestClock()
        await withUnsafeContinuation { continuation in
          Thread.detachNewThread {
            resume.wait()
            continuation.resume()
          }
          suspended.add()
        }
        hasRun.add()
        withExtendedLifetime(clock) {}
      }
      #expect(await becomesTrue { suspended.value == 1 })
      onAThread {
        let count = ProcessInfo.processInfo.activeProcessorCount
        for _ in 0..<4 * count {
          DispatchQueue.global().async {
            looping.add()
            while hasRun.value == 0, isOver.value == 0 {}
          }
        }
        for _ in 0..<3_000 where looping.value < count { usleep(10_000) }
        resume.signal()
        usleep(100_000)
        #expect(hasRun.value == 0)
        Scheduler.jobBlocksThread()
        for _ in 0..<3_000 where hasRun.value == 0 { usleep(10_000) }
        #expect(hasRun.value == 1)
        isOver.add()
      }
      #expect(await becomesTrue { isOver.value == 1 })
      await test.value
    }
  }
}
