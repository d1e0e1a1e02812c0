import Dispatch

@testable import Clocks

extension Program {
  /// The program with as many steps removed as can be so that `fails` still holds.
  ///
  /// Delta debugging: leaves out ever smaller parts, until no single step can be left out. O(n^2)
  /// calls of `fails` at worst, for n steps; no more than `attempts`.
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

/// Runs the operation in a task of its own and returns its result, or `nil` if it has not ended
/// after some seconds of real time: then it hangs, and is left to itself.
func unlessItHangs<Result: Sendable>(
  seconds: Double, _ operation: @escaping @Sendable () async -> Result
) async -> Result? {
  let end = FirstResult<Result?>()
  Task.detached { end.offer(await operation()) }
  let alarm = DispatchWorkItem { end.offer(nil) }
  DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: alarm)
  defer { alarm.cancel() }
  return await end.value
}

/// The first result that is offered; awaited once.
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
