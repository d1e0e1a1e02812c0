import Dispatch

@testable import Clocks

extension Program {
  /// Returns the program with as many steps removed as possible while `fails` still holds.
  ///
  /// Delta debugging: removes smaller and smaller parts, until no single step can be removed. Calls `fails`
  /// O(n^2) times for n steps, but at most `attempts` times.
  func shortened(attempts: Int = 2_000, fails: (Program) async -> Bool) async -> Program {
    var shortest = self
    var left = attempts
    var part = max(1, stepNumbers.count / 2)
    while left > 0 {
      var hasShrunk = false
      var start = 0
      while left > 0 {
        let numbers = shortest.stepNumbers
        guard start < numbers.count else { break }
        let candidate = shortest.removing(Set(numbers[start...].prefix(part)))
        left -= 1
        if await fails(candidate) {
          shortest = candidate
          hasShrunk = true
        } else {
          start += part
        }
      }
      if part > 1 { part /= 2 } else if !hasShrunk { break }
    }
    return shortest
  }
}

/// Runs the operation in a task of its own and returns its result, or `nil` if the operation hangs.
///
/// An operation that has not ended after some seconds of real time counts as hanging. Its task stays behind.
func unlessItHangs<Result: Sendable>(
  seconds: Double, _ operation: @escaping @Sendable () async -> Result
) async -> Result? {
  let end = FirstResult<Result?>()
  let alarm = DispatchWorkItem { end.offer(nil) }
  defer { alarm.cancel() }
  nonisolated(unsafe) let limit = alarm
  Task.detached { @Sendable in
    // From here on, because the task may have waited long for a thread.
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: limit)
    end.offer(await operation())
  }
  return await end.value
}

/// The first offered result. One task can wait for it.
private final class FirstResult<Result: Sendable>: Sendable {
  private let stream = AsyncStream<Result>.makeStream()

  func offer(_ result: Result) {
    stream.continuation.yield(result)
    stream.continuation.finish()
  }

  var value: Result {
    get async {
      for await result in stream.stream { return result }
      preconditionFailure("a stream ended before its first element")
    }
  }
}
