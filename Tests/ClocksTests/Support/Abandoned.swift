import Dispatch
import Foundation

@testable import Clocks

extension Scheduler {
  /// Blocks the current thread, which runs a job of the test, until the scheduler has abandoned the job, or for
  /// a minute.
  func waitUntilAbandoned() {
    let semaphore = DispatchSemaphore(value: 0)
    signalWhenAbandoned(semaphore)
    _ = semaphore.wait(timeout: .now() + 60)
  }

  /// Signals the semaphore when the scheduler has abandoned the running job.
  func signalWhenAbandoned(_ semaphore: DispatchSemaphore) {
    let number = change { $0.idleness.threadNumber }
    Thread {
      while self.change({ $0.idleness.threadNumber }) == number { usleep(5_000) }
      semaphore.signal()
    }.start()
  }
}
