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
}
