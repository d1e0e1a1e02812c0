import ArgumentParser
import Dispatch
import Workloads

/// Does one workload twice: once small, to warm up, and once as large as asked for, which is what
/// Scripts/instructions counts.
///
/// The main thread does nothing but wait, in a way that the counting tool understands: the one in
/// which an asynchronous `main` waits, it does not.
@main
struct Instructions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Does one workload once. Scripts/instructions counts what that takes.")

  @Argument(help: "The workload.")
  var workload: Workload

  @Argument(help: "How many operations.")
  var count: Int

  func run() {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      _ = await workload.run(64)
      _ = await workload.run(count)
      end.signal()
    }
    end.wait()
  }
}

enum Workload: String, ExpressibleByArgument, CaseIterable {
  case loop
  case wakeDistinct = "wake-distinct"
  case wakeEqual = "wake-equal"
  case register
  case cancel
  case scopeSleep = "scope-sleep"
  case advancePastNothing = "advance-past-nothing"
  case strangers = "no-tests-task"

  func run(_ count: Int) async -> Double {
    switch self {
    case .loop: await Workloads.loopOurs(count)
    case .wakeDistinct: await Workloads.wakeOurs(Workloads.shuffled(count))
    case .wakeEqual: await Workloads.wakeOurs(Array(repeating: 1, count: count))
    case .register: await Workloads.registerOurs(Workloads.shuffled(count))
    case .cancel: await Workloads.cancelOurs(Workloads.shuffled(count))
    case .scopeSleep: await Workloads.scopeLoop(count)
    case .advancePastNothing: await Workloads.advancePastNothing(count)
    case .strangers: await Workloads.strangersBesideAClock(count)
    }
  }
}
