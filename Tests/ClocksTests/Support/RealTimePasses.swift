import ClocksSupport
import Foundation

/// Waits for some seconds of real time, unseen by every scheduler.
func realTimePasses(_ seconds: Double) async {
  await withCheckedContinuation { continuation in
    onAThread(after: seconds) { continuation.resume() }
  }
}

/// Runs the body on a thread of its own, which no scheduler sees, after some seconds of real time.
func onAThread(after seconds: Double = 0, _ body: @escaping @Sendable () -> Void) {
  Thread.detachNewThread {
    if seconds > 0 { Thread.sleep(forTimeInterval: seconds) }
    body()
  }
}

/// Starts an unowned task: no test has made it.
func unownedTask<Result: Sendable>(
  priority: TaskPriority? = nil, _ body: @escaping @Sendable () async -> Result
) async -> Task<Result, Never> {
  await withCheckedContinuation { continuation in
    onAThread { continuation.resume(returning: Task(priority: priority, operation: body)) }
  }
}

/// Waits until the condition holds, for up to 100 seconds of real time. Returns whether it holds.
func becomesTrue(
  isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool
) async -> Bool {
  let limit = RealTime(in: .seconds(100))
  while !condition() {
    if limit.hasPassed { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
