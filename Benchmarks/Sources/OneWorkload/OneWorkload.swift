import ArgumentParser
import Dispatch
import Workloads

/// Runs a workload once for Scripts/instructions, or repeatedly for Benchmarks/compare.
///
/// The main thread only waits, in a way that callgrind supports. It does not support the wait of an
/// asynchronous `main`, which the workloads of the main actor need.
@main
struct OneWorkload: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs one workload, for Scripts/instructions and Benchmarks/compare.")

  @Argument(help: "The workload.")
  var workload: Workload

  @Argument(help: "The number of operations.")
  var count: Int

  @Flag(help: "Repeat it, and print the median of its nanoseconds per operation.")
  var time = false

  func run() {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      defer { if workload.usesMainThread { Self.exit() } }
      if time {
        print(await median())
      } else {
        // The first run is the warm-up.
        _ = await workload.run(64)
        _ = await workload.run(count)
      }
      end.signal()
    }
    if workload.usesMainThread { dispatchMain() }
    end.wait()
  }

  /// Runs once to warm up, then at least three times and for at least 0.2 seconds, as the peers do.
  private func median() async -> Double {
    if workload.isMeasuredOnce { return await workload.run(count) }
    _ = await workload.run(count)
    let begin = ContinuousClock.now
    var times: [Double] = []
    while times.count < 3 || ContinuousClock.now - begin < .milliseconds(200) {
      times.append(await workload.run(count))
    }
    return times.sorted()[times.count / 2]
  }
}

enum Workload: String, ExpressibleByArgument, CaseIterable {
  case loop
  case loopRecorded = "loop-recorded"
  case wakeDistinct = "wake-distinct"
  case wakeEqual = "wake-equal"
  case register
  case cancel
  case scopeSleep = "scope-sleep"
  case advancePastNothing = "advance-past-nothing"
  case schedules
  case clusters
  case parallelTests = "parallel-tests"
  case timeout = "with-timeout"
  case twoChildren = "two-children"
  case oneChild = "one-child"
  case bareTask = "bare-task"
  case timeoutTask = "timeout-task"
  case hop = "hop-in-a-test"
  case hopOfStranger = "hop-of-no-test"
  case mainHop = "main-hop-in-a-test"
  case mainHopOfStranger = "main-hop-of-no-test"
  case strangers = "no-tests-task"
  case timeoutsStart = "live-timeouts-start"
  case timeoutsBytes = "live-timeouts-bytes"
  case timeoutsCancel = "live-timeouts-cancel"
  case tasksStart = "live-tasks-start"
  case tasksBytes = "live-tasks-bytes"
  case tasksCancel = "live-tasks-cancel"
  case bytes
  case floorLoop = "floor-loop"
  case floorWakeDistinct = "floor-wake-distinct"
  case floorWakeEqual = "floor-wake-equal"
  case floorRegister = "floor-register"
  case floorCancel = "floor-cancel"
  case floorBytes = "floor-bytes"
  case floorParallelTests = "floor-parallel-tests"

  /// Whether the workload must run once, because a process reuses its memory.
  var isMeasuredOnce: Bool {
    [.bytes, .floorBytes, .timeoutsBytes, .tasksBytes].contains(self)
  }

  var usesMainThread: Bool { [.mainHop, .mainHopOfStranger].contains(self) }

  func run(_ count: Int) async -> Double {
    switch self {
    case .loop: await Workloads.loopOurs(count)
    case .loopRecorded: await Workloads.loopRecorded(count)
    case .wakeDistinct: await Workloads.wakeOurs(Workloads.shuffled(count))
    case .wakeEqual: await Workloads.wakeOurs(Array(repeating: 1, count: count))
    case .register: await Workloads.registerOurs(Workloads.shuffled(count))
    case .cancel: await Workloads.cancelOurs(Workloads.shuffled(count))
    case .scopeSleep: await Workloads.scopeLoop(count)
    case .advancePastNothing: await Workloads.advancePastNothing(count)
    case .schedules: await Workloads.schedules(count)
    case .clusters: await Workloads.clusters(count)
    case .parallelTests: await Workloads.parallelTests(count)
    case .timeout: await Workloads.timeout(count)
    case .twoChildren: await Workloads.twoChildren(count)
    case .oneChild: await Workloads.oneChild(count)
    case .bareTask: await Workloads.bareTask(count)
    case .timeoutTask: await Workloads.timeoutTask(count)
    case .hop: await Workloads.hopInATest(count)
    case .hopOfStranger: await Workloads.hopOfNoTest(count)
    case .mainHop: await Workloads.mainHopInATest(count)
    case .mainHopOfStranger: await Workloads.mainHopOfNoTest(count)
    case .strangers: await Workloads.strangersBesideAClock(count)
    case .timeoutsStart: await LiveTimeouts.timeouts(count, .start)
    case .timeoutsBytes: await LiveTimeouts.timeouts(count, .bytes)
    case .timeoutsCancel: await LiveTimeouts.timeouts(count, .cancel)
    case .tasksStart: await LiveTimeouts.tasks(count, .start)
    case .tasksBytes: await LiveTimeouts.tasks(count, .bytes)
    case .tasksCancel: await LiveTimeouts.tasks(count, .cancel)
    case .bytes: await Workloads.bytesSleeping(count)
    case .floorLoop: await Workloads.loopFloor(count)
    case .floorWakeDistinct: await Workloads.wakeFloor(Workloads.shuffled(count))
    case .floorWakeEqual: await Workloads.wakeFloor(Array(repeating: 1, count: count))
    case .floorRegister: await Workloads.registerFloor(Workloads.shuffled(count))
    case .floorCancel: await Workloads.cancelFloor(Workloads.shuffled(count))
    case .floorBytes: await Workloads.bytesSuspended(count)
    case .floorParallelTests: await Workloads.parallelTestsFloor(count)
    }
  }
}
