// The workloads of Benchmarks on the test clock of swift-clocks.
//
// Run with a workload and a number of operations; prints the nanoseconds per operation. Like the other programs, it
// runs the work once to warm up, then at least three times and for at least 0.2 seconds, and prints the median.

import Clocks

func nanoseconds(per count: Int, _ work: () async -> Void) async -> Double {
  let start = ContinuousClock.now
  await work()
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  return (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(count)
}

func sleepers(_ count: Int, on clock: TestClock<Duration>) -> [Task<Void, Never>] {
  (1...count).shuffled().map { deadline in
    Task.detached { try? await clock.sleep(until: .init(offset: .nanoseconds(deadline))) }
  }
}

func loop(_ count: Int) async -> Double {
  let clock = TestClock()
  let task = Task.detached {
    for tick in 1...count { try await clock.sleep(until: .init(offset: .nanoseconds(tick))) }
  }
  await clock.advance()
  let time = await nanoseconds(per: count) { await clock.advance(by: .nanoseconds(count)) }
  _ = await task.result
  return time
}

func wake(_ count: Int) async -> Double {
  let clock = TestClock()
  let tasks = sleepers(count, on: clock)
  await clock.advance()
  let time = await nanoseconds(per: count) { await clock.advance(by: .nanoseconds(count)) }
  for task in tasks { await task.value }
  return time
}

/// Each of `count` concurrent tests advances its own clock twenty times.
func tests(_ count: Int) async -> Double {
  await nanoseconds(per: count) {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        group.addTask {
          let clock = TestClock()
          let ticker = Task { for _ in 0..<20 { try await clock.sleep(for: .seconds(1)) } }
          for _ in 0..<20 { await clock.advance(by: .seconds(1)) }
          _ = await ticker.result
        }
      }
    }
  }
}

@main
enum Peer {
  static func main() async {
    let workloads = ["loop": loop, "wake-distinct": wake, "parallel-tests": tests]
    guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]),
      let workload = workloads[CommandLine.arguments[1]]
    else { fatalError("usage: swift-clocks-peer WORKLOAD COUNT") }
    _ = await workload(count)
    let begin = ContinuousClock.now
    var times: [Double] = []
    while times.count < 3 || ContinuousClock.now - begin < .milliseconds(200) {
      times.append(await workload(count))
    }
    print(times.sorted()[times.count / 2])
  }
}
