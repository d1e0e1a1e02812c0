import Dispatch
import Foundation

/// Blocks the thread until a signal comes. Returns whether it comes within ten minutes.
func waited(for semaphore: DispatchSemaphore) -> Bool {
  semaphore.wait(timeout: .now() + 600) == .success
}

/// Returns real time, by a clock that the package does not replace.
func realNow() -> Duration {
  var reading = timespec()
  clock_gettime(CLOCK_MONOTONIC, &reading)
  return .seconds(reading.tv_sec) + .nanoseconds(reading.tv_nsec)
}
