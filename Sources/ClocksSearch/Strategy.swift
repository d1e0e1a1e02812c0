import ClocksSupport

/// The rule by which a run makes its decisions.
package enum Plan: Hashable, Sendable {
  /// First in, first out and first options, as far as the constraints and choices allow.
  case constraints([Constraint], choices: [Choice] = [])
  /// First in, first out, but one step is delayed until no other can run.
  case delay(ScheduleStep)
  case newestFirst
  /// The given first decisions, then first in, first out.
  case prefix([UInt32])
  case random(seed: UInt64)
  /// Each interleaving has about the same probability, because a task with more steps left is chosen more often.
  ///
  /// Uniform Random Walk; Zhao et al., "Selectively Uniform Concurrency Testing", 2025.
  case uniform(seed: UInt64)
  /// Tasks have priorities, which fall at a few random points.
  ///
  /// Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010.
  case priorities(seed: UInt64, depth: Int)
  /// Steps have priorities, which are drawn again for steps that conflict with the step that runs.
  ///
  /// Yuan et al., "Partial Order Aware Concurrency Sampling", 2018.
  case partialOrder(seed: UInt64)

  package static let firstInFirstOut = Plan.constraints([])

  /// The seed of a plan by which a run is random.
  var seed: UInt64? {
    switch self {
    case .random(let seed), .uniform(let seed), .priorities(let seed, _), .partialOrder(let seed):
      seed
    case .constraints, .delay, .newestFirst, .prefix: nil
    }
  }

  package var name: String {
    switch self {
    case .constraints(let constraints, let choices):
      !constraints.isEmpty ? "reversal" : choices.isEmpty ? "first in, first out" : "choice"
    case .delay: "delay"
    case .newestFirst: "last in, first out"
    case .prefix: "exhaustive"
    case .random: "random"
    case .uniform: "URW"
    case .priorities(_, let depth): "PCT\(depth)"
    case .partialOrder: "POS"
    }
  }
}

/// The facts that strategies know about a test from its first run.
package struct Profile: Sendable {
  var steps = 0
  var weights: [Int] = []
  /// The actors that each step touches, as a mask with one bit for each actor. The key is `ScheduleStep.bits`.
  let touched = WordTable()
  /// The number of points at which a fault could strike, and at which a stall could come.
  var faultPoints = 0
  var stallPoints = 0
  /// How many times a constraint delays its second step, at most: the first step may depend on the second.
  let patience: Int

  package static let standardPatience = 1_000

  package init(patience: Int = Profile.standardPatience) { self.patience = patience }

  /// Step limit after which a run falls back to first in, first out: a loop is probably waiting for a step
  /// that the strategy keeps delaying.
  var longest: Int { steps == 0 ? .max : 2 * steps + 100 }
}

struct Strategy {
  private let plan: Plan
  private let profile: Profile
  private var mixer: Mixer
  /// For each task its remaining weight, in `uniform`, or its priority, in `priorities`.
  private var values: [Int] = []
  /// The numbers of the steps at which a priority falls, in descending order.
  private var falls: [Int] = []
  private var decisions = 0
  private var delays = 0
  /// The priority of each step, in `partialOrder`.
  private let draws = WordTable()
  /// How often each constraint has delayed its second step; `Profile.patience` if its first step has run.
  private var kept: [Int] = []
  private var constraints: [Constraint] = []
  private(set) var options: OptionStrategy

  /// How many times `Plan.delay` delays its step, at most: a loop may be waiting for the step.
  private static let patienceOfDelay = 100

  init(_ plan: Plan, profile: Profile, bounds: Bounds = Bounds()) {
    self.plan = plan
    options = OptionStrategy(plan, profile, bounds)
    self.profile = profile
    mixer = Mixer(seed: plan.seed ?? 0)
    switch plan {
    case .constraints(let wanted, _): constraints = wanted
    case .uniform: values = profile.weights
    case .priorities(_, let depth):
      for _ in 1..<max(1, depth) { falls.append(mixer.below(max(1, profile.steps))) }
      falls.sort(by: >)
    case .delay, .newestFirst, .prefix, .random, .partialOrder: break
    }
    kept = Array(repeating: 0, count: constraints.count)
  }

  /// Subtracts the weight of a new task from the remaining weight of its parent.
  ///
  /// From now on a random choice counts that weight for the new task itself.
  mutating func created(_ task: Int, by parent: Int) {
    guard case .uniform = plan, profile.weights.indices.contains(task) else { return }
    if values.indices.contains(parent) { values[parent] -= profile.weights[task] }
  }

  /// Updates constraints and priorities for a step that is about to run.
  mutating func begins(
    _ step: ScheduleStep, number: Int, others: borrowing ScratchBuffer<ScheduleStep>
  ) {
    switch plan {
    case .constraints:
      // Comparing the bits saves a debug build a function call.
      for index in 0..<constraints.count where constraints[index].first.bits == step.bits {
        kept[index] = profile.patience
      }
    case .uniform:
      if step.task < values.count { values[step.task] -= 1 }
    case .priorities:
      while falls.count > 0, falls[falls.count - 1] <= number {
        falls.removeLast()
        _ = priority(of: step.task)
        values[step.task] = -falls.count - 1
      }
    case .partialOrder:
      guard let touched = profile.touched[step.bits], touched != 0 else { return }
      for index in 0..<others.count where (profile.touched[others[index].bits] ?? 0) & touched != 0
      {
        draws.set(others[index].bits, to: mixer.next())
      }
    case .delay, .newestFirst, .prefix, .random: break
    }
  }

  /// See `ScheduleRun.choose(_:offersStall:)`.
  mutating func choose(
    _ candidates: borrowing ScratchBuffer<ScheduleStep>, _ offersStall: Bool = false
  ) -> Int {
    defer { decisions += 1 }
    guard offersStall else { return choose(among: candidates) }
    let last = candidates.count - 1
    switch plan {
    case .delay, .prefix: return choose(among: candidates)
    case .constraints where options.listed(candidates[last]) != nil:
      return choose(among: candidates)
    default:
      // Stalls are spread over the run: otherwise the first points of the run would use them up.
      if options.stalls() { return last }
      if last == 1 { return 0 }
      var others = ScratchBuffer<ScheduleStep>()
      for index in 0..<last { others.append(candidates[index]) }
      return choose(among: others)
    }
  }

  private mutating func choose(among candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    switch plan {
    case .constraints: return constraints.isEmpty ? 0 : firstFree(candidates)
    case .delay(let step):
      guard candidates[0].bits == step.bits, delays < Self.patienceOfDelay else { return 0 }
      delays += 1
      return 1
    case .prefix(let choices):
      guard decisions < choices.count else { return 0 }
      return min(Int(choices[decisions]), candidates.count - 1)
    default: break
    }
    // A yield gives way to all other steps: otherwise a loop that yields would starve them.
    var yielding = 0
    for index in 0..<candidates.count where candidates[index].isOther { yielding += 1 }
    if yielding == 0 { return chooseFreely(candidates) }
    var others = ScratchBuffer<ScheduleStep>()
    for index in 0..<candidates.count where !candidates[index].isOther {
      others.append(candidates[index])
    }
    if others.count == 0 { return 0 }
    let chosen = others[others.count == 1 ? 0 : chooseFreely(others)]
    var index = 0
    while candidates[index].bits != chosen.bits { index += 1 }
    return index
  }

  /// Returns the number of the option that a decision within a step gets, of `count` options (2 or more).
  mutating func choose(_ count: Int, for name: ScheduleStep) -> Int {
    defer { decisions += 1 }
    if case .prefix(let choices) = plan {
      return decisions < choices.count ? min(Int(choices[decisions]), count - 1) : 0
    }
    return options.choose(count, for: name)
  }

  private mutating func firstFree(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    search: for index in 0..<candidates.count {
      let candidate = candidates[index].bits
      for number in 0..<constraints.count
      where constraints[number].second.bits == candidate && kept[number] < profile.patience {
        kept[number] += 1
        continue search
      }
      // A stall may come before a sleep wakes early.
      if candidates[index].isWake,
        let next = options.nextStall(among: candidates, before: candidates[index])
      {
        return next
      }
      return index
    }
    // A step may wait for the end of a sleep that is due only after the stall before that step.
    if let next = options.nextStall(among: candidates) { return next }
    return 0
  }

  private mutating func chooseFreely(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    switch plan {
    case .newestFirst: candidates.count - 1
    case .random: mixer.below(candidates.count)
    case .uniform: chooseByWeight(candidates)
    case .priorities, .partialOrder: chooseByPriority(candidates)
    case .constraints, .delay, .prefix: 0
    }
  }

  private mutating func chooseByPriority(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int
  {
    var (best, highest) = (0, priority(of: candidates[0]))
    for index in 1..<candidates.count {
      let priority = priority(of: candidates[index])
      if highest < priority { (best, highest) = (index, priority) }
    }
    return best
  }

  private mutating func priority(of step: ScheduleStep) -> Int {
    if case .priorities = plan { return priority(of: step.task) }
    if let drawn = draws[step.bits] { return Int(truncatingIfNeeded: drawn >> 1) }
    draws.set(step.bits, to: mixer.next())
    return priority(of: step)
  }

  private mutating func chooseByWeight(_ candidates: borrowing ScratchBuffer<ScheduleStep>) -> Int {
    var sum = 0
    for index in 0..<candidates.count { sum += weight(of: candidates[index].task) }
    var rest = mixer.below(sum)
    for index in 0..<candidates.count {
      rest -= weight(of: candidates[index].task)
      if rest < 0 { return index }
    }
    return candidates.count - 1
  }

  // Mutating, because a debug build copies the strategy to call a function that is not mutating.
  private mutating func weight(of task: Int) -> Int {
    task < values.count && values[task] > 1 ? values[task] : 1
  }

  private mutating func priority(of task: Int) -> Int {
    while values.count <= task { values.append(Int(truncatingIfNeeded: mixer.next() >> 2)) }
    return values[task]
  }
}
