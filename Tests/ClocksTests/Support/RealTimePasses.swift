import Foundation

/// Returns when so many seconds of real time have passed, which no scheduler of ours sees.
func realTimePasses(_ seconds: Double) async {
  await withCheckedContinuation { continuation in
    onAThread(after: seconds) { continuation.resume() }
  }
}

/// Runs something on a thread of its own, which no scheduler of ours sees, when so many seconds of real
/// time have passed.
func onAThread(after seconds: Double = 0, _ body: @escaping @Sendable () -> Void) {
  Thread.detachNewThread {
    if seconds > 0 { Thread.sleep(forTimeInterval: seconds) }
    body()
  }
}

/// Starts a task that is nobody's: no test has made it.
func strangersTask<Result: Sendable>(
  priority: TaskPriority? = nil, _ body: @escaping @Sendable () async -> Result
) async -> Task<Result, Never> {
  await withCheckedContinuation { continuation in
    onAThread { continuation.resume(returning: Task(priority: priority, operation: body)) }
  }
}
