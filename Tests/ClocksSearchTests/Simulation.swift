import ClocksSupport

@testable import ClocksSearch

extension ScheduleRun {
  /// The ready steps. O(n).
  var ready: [ScheduleStep] { readySteps.all }
}

extension ScheduleSearch {
  /// Plays and notes one plan after the other, until the search ends or `play` returns `false`.
  func playAll(
    _ run: ScheduleRun = ScheduleRun(.firstInFirstOut), _ play: (ScheduleRun, Plan) -> Bool
  ) {
    while let plan = next() {
      run.reset(plan, profile: profile)
      let goesOn = play(run, plan)
      note(run.record, run.tree)
      if !goesOn { return }
    }
  }
}

/// A program of tasks that consist of steps, run without a scheduler.
struct Simulation {
  /// The steps of each task.
  var tasks: [[@Sendable (inout [Int: Int]) -> Void]]
  /// A task that repeats its last step, and the condition on which it does.
  var loop: (task: Int, goesOn: @Sendable ([Int: Int]) -> Bool)?
  /// Whether the loop yields before each turn.
  var yields = false
  /// Whether the final memory shows the bug.
  var isBug: @Sendable ([Int: Int]) -> Bool

  /// The limit of steps for a loop that does not end.
  static let mostSteps = 20_000

  /// Runs the program; returns whether the bug occurred.
  func play(_ run: ScheduleRun) -> Bool {
    let indices = tasks.map { _ in run.create(by: TaskTree.test) }
    let taskOf = Dictionary(uniqueKeysWithValues: indices.enumerated().map { ($1, $0) })
    for index in indices { run.enqueue(run.nextJob(of: index)) }
    var memory: [Int: Int] = [:]
    while !run.ready.isEmpty, run.currentStep < Self.mostSteps {
      let position = run.ready.count > 1 ? run.choose(ScratchBuffer(run.ready)) : 0
      let step = run.ready[position]
      run.begin(at: position)
      run.touch(ScheduleRun.Touched.firstActor)
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

  /// Returns the number of runs in which the bug occurs, after a first run for the profile.
  func hits(_ runs: Int, _ plan: (UInt64) -> Plan) -> Int {
    let run = ScheduleRun(.firstInFirstOut)
    _ = play(run)
    let profile = run.record.profile(tasks: run.tree.count)
    return (0..<runs).count { number in
      run.reset(plan(UInt64(number)), profile: profile)
      return play(run)
    }
  }

  /// A program of three to five tasks that read and write four cells; the bug is a pattern of its memory that
  /// few orders leave behind.
  static func random(seed: UInt64) -> Simulation {
    var mixer = Mixer(seed: seed)
    var tasks: [[@Sendable (inout [Int: Int]) -> Void]] = []
    for task in 0..<3 + mixer.below(3) {
      var steps: [@Sendable (inout [Int: Int]) -> Void] = []
      for _ in 0..<2 + mixer.below(4) {
        let (cell, other, local) = (mixer.below(4), mixer.below(4), 100 + task)
        switch mixer.below(3) {
        case 0: steps.append { $0[local] = $0[cell, default: 0] }
        case 1: steps.append { $0[cell] = $0[local, default: 0] + task + 1 }
        default: steps.append { $0[cell] = $0[other, default: 0] &* 3 + 1 }
        }
      }
      tasks.append(steps)
    }
    let (modulus, wanted) = (5 + mixer.below(6), mixer.below(5))
    return Simulation(tasks: tasks) { memory in
      (0..<4).reduce(0) { $0 &* 7 + memory[$1, default: 0] } % modulus == wanted
    }
  }

  // MARK: - Shapes

  private static func idle(_ count: Int) -> [[@Sendable (inout [Int: Int]) -> Void]] {
    Array(repeating: [{ _ in }], count: count)
  }

  /// Two tasks increment a number in two steps; the other tasks are independent.
  static func lostUpdate(beside others: Int = 0) -> Simulation {
    let tasks = (1...2).map { number -> [@Sendable (inout [Int: Int]) -> Void] in
      [{ $0[number] = $0[0, default: 0] }, { $0[0] = $0[number]! + 1 }]
    }
    return Simulation(tasks: tasks + idle(others)) { $0[0] != 2 }
  }

  /// One job must not run after all twenty jobs of another task.
  static let lateJob = Simulation(
    tasks: [
      [{ $0[1] = $0[0, default: 0] }], Array(repeating: { $0[0, default: 0] += 1 }, count: 20),
    ]
  ) { $0[1] == 20 }

  /// One job must not run after twenty jobs of twenty tasks.
  static let lastOfMany = Simulation(
    tasks: [[{ $0[1] = $0[0, default: 0] }]]
      + Array(repeating: [{ $0[0, default: 0] += 1 }], count: 20)
  ) { $0[1] == 20 }

  /// A loop waits until another task has run its two steps; the other tasks are independent.
  static func waitingLoop(yields: Bool, beside others: Int = 0) -> Simulation {
    let setter: [@Sendable (inout [Int: Int]) -> Void] = [{ _ in }, { $0[0] = 1 }]
    return Simulation(
      tasks: [[{ _ in }], setter] + idle(others), loop: (0, { $0[0] == nil }), yields: yields
    ) { _ in false }
  }

  /// ABA: one task compares and sets, while another replaces the value and restores it.
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
