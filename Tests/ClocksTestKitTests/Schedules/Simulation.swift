import ClocksSupport

@testable import Clocks

/// A program of tasks that consist of steps, played without the runtime.
struct Simulation {
  /// For each task what its steps do, in order.
  var tasks: [[@Sendable (inout [Int: Int]) -> Void]]
  /// A loop: the index of a task that does its last step again and again, and whether it goes on.
  var loop: (task: Int, goesOn: @Sendable ([Int: Int]) -> Bool)?
  /// Whether the loop yields before each turn.
  var yields = false
  /// Whether the memory shows the bug when all is over.
  var isBug: @Sendable ([Int: Int]) -> Bool

  /// After so many steps a loop is left that has not ended.
  static let mostSteps = 20_000

  /// Plays the program, and says whether the bug has come.
  func play(_ run: ScheduleRun) -> Bool {
    let indices = tasks.map { _ in run.create(by: TaskTree.test) }
    let taskOf = Dictionary(uniqueKeysWithValues: indices.enumerated().map { ($1, $0) })
    for index in indices { run.enqueue(run.nextJob(of: index)) }
    var memory: [Int: Int] = [:]
    while !run.ready.isEmpty, run.currentStep < Self.mostSteps {
      let position = run.ready.count > 1 ? run.choose(ScratchBuffer(run.ready)) : 0
      let step = run.ready[position]
      run.begin(at: position)
      run.touch(2, by: run.currentStep)
      guard let task = taskOf[step.task] else { break }
      if step.isOther {
        run.enqueue(run.nextJob(of: step.task))
        continue
      }
      let count = tasks[task].count
      tasks[task][min(step.number, count) - 1](&memory)
      if step.number < count {
        run.enqueue(run.nextJob(of: step.task))
      } else if let loop, loop.task == task, loop.goesOn(memory) {
        run.enqueue(yields ? run.nextOther(of: step.task) : run.nextJob(of: step.task))
      }
    }
    return isBug(memory)
  }

  /// Of how many runs the bug comes, first in, first out having been looked at.
  func hits(_ runs: Int, _ plan: (UInt64) -> Plan) -> Int {
    let run = ScheduleRun(.firstInFirstOut)
    _ = play(run)
    let profile = run.record.profile(tasks: run.tree.count)
    return (0..<runs).count { number in
      run.reset(plan(UInt64(number)), profile: profile)
      return play(run)
    }
  }

  // MARK: - Shapes

  private static func idle(_ count: Int) -> [[@Sendable (inout [Int: Int]) -> Void]] {
    Array(repeating: [{ _ in }], count: count)
  }

  /// Two tasks read, and write what they have read and one more; beside them others do something else.
  static func lostUpdate(beside others: Int = 0) -> Simulation {
    let tasks = (1...2).map { number -> [@Sendable (inout [Int: Int]) -> Void] in
      [{ $0[number] = $0[0, default: 0] }, { $0[0] = $0[number]! + 1 }]
    }
    return Simulation(tasks: tasks + idle(others)) { $0[0] != 2 }
  }

  /// One job must not come after twenty others, which come one after the other.
  static let lateJob = Simulation(
    tasks: [
      [{ $0[1] = $0[0, default: 0] }], Array(repeating: { $0[0, default: 0] += 1 }, count: 20),
    ]
  ) { $0[1] == 20 }

  /// The same with twenty jobs that come in any order.
  static let lastOfMany = Simulation(
    tasks: [[{ $0[1] = $0[0, default: 0] }]]
      + Array(repeating: [{ $0[0, default: 0] += 1 }], count: 20)
  ) { $0[1] == 20 }

  /// A loop waits until another task has done its two steps; beside them others do something else.
  static func waitingLoop(yields: Bool, beside others: Int = 0) -> Simulation {
    let setter: [@Sendable (inout [Int: Int]) -> Void] = [{ _ in }, { $0[0] = 1 }]
    return Simulation(
      tasks: [[{ _ in }], setter] + idle(others), loop: (0, { $0[0] == nil }), yields: yields
    ) { _ in false }
  }

  /// One task takes A and B and puts A back, while another is about to replace A; a third does something
  /// else.
  static func compareAndSet(beside others: Int = 0) -> Simulation {
    let slow: [@Sendable (inout [Int: Int]) -> Void] = [
      { $0[1] = $0[0, default: 10] },
      { $0[2] = $0[0, default: 10] == $0[1]! && $0[3] == 2 ? 1 : 0 },
    ]
    let fast: [@Sendable (inout [Int: Int]) -> Void] = [
      {
        $0[0] = 11
        if $0[1] != nil { $0[3] = 1 }
      },
      { $0[4] = 1 },
      {
        $0[0] = 10
        if $0[3] == 1 { $0[3] = 2 }
      },
    ]
    return Simulation(tasks: [slow, fast] + idle(others)) { $0[2] == 1 }
  }
}
