import ClocksSupport

/// Reduces the choices and the constraints of a failing run to those that the failure needs.
///
/// The shrinker first removes faults, then removes other choices or makes them smaller, then removes constraints:
/// a fault says more about a bug than an order does.
///
/// Bisection finds the necessary constraints one after the other, as in delta debugging (Zeller and Hildebrandt,
/// "Simplifying and Isolating Failure-Inducing Input", 2002; Junker, "QuickXplain", 2004). Then each constraint is
/// removed if the same failure remains without it. The first step of each remaining constraint is replaced by the
/// earliest step with which the failure remains. Both are repeated until nothing changes. With one repetition, it takes
/// O(k · log n) runs to find k of n constraints.
package struct ScheduleShrinker {
  /// Runs the test by this plan. Returns the record of the run if the same failure occurred, else `nil`.
  package typealias Test = nonisolated(nonsending) (Plan) async -> RunRecord?

  private let limit = 200
  /// When to stop, if more than 50 runs were made. Nearly all failures need fewer, and on a busy machine these runs
  /// may take longer.
  private let deadline: RealTime
  package private(set) var runs = 0
  /// Whether runs have shown that the failure needs each choice and each constraint.
  package private(set) var isMinimal = false
  /// The choices and constraints with which the failure remains, as few as are known.
  package private(set) var choices: [Choice] = []
  private var constraints: [Constraint] = []

  package init(deadline: RealTime) { self.deadline = deadline }

  private var mayGoOn: Bool { runs < limit && !(runs > 50 && deadline.hasPassed) }

  /// Returns as few constraints as it finds, and reduces `choices`. With both, the failure of the recorded run remains.
  package nonisolated(nonsending) mutating func shrink(
    _ record: RunRecord, _ test: Test
  ) async -> [Constraint] {
    (choices, constraints) = (record.choices, record.constraints)
    isMinimal = await reduceChoices(test)
    if constraints.isEmpty { return [] }
    if choices.isEmpty, constraints.count > 3, let one = await oneInstead(test) {
      constraints = one
    } else {
      await leaveOutUnnecessary(test)
    }
    // A constraint with an earlier first step may make another part unnecessary, so all steps are repeated.
    while true {
      isMinimal = await leaveOutEach(\.constraints, test)
      let known = (constraints, choices)
      await sharpen(test)
      isMinimal = await reduceChoices(test) && isMinimal
      if (constraints, choices) == known { return constraints }
    }
  }

  /// Runs the schedule after a change, which is undone unless the failure remains. Returns whether it remains.
  @discardableResult
  private nonisolated(nonsending) mutating func attempt(
    _ test: Test, _ change: (inout Self) -> Void
  ) async -> Bool {
    let known = (constraints, choices)
    change(&self)
    if await run(test) != nil { return true }
    (constraints, choices) = known
    return false
  }

  private nonisolated(nonsending) mutating func run(_ test: Test) async -> RunRecord? {
    runs += 1
    return await test(.constraints(constraints, choices: choices))
  }

  /// Bisects for the smallest number with which the failure remains, and returns the smallest that is known.
  ///
  /// - Parameters:
  ///   - high: A number with which the failure remains.
  ///   - change: Makes the schedule the one for a number.
  @discardableResult
  private nonisolated(nonsending) mutating func bisect(
    from low: Int, to high: Int, _ test: Test, _ change: (inout Self, Int) -> Void
  ) async -> Int {
    var (low, high) = (low, high)
    while low < high, mayGoOn {
      let middle = low + (high - low) / 2
      if await attempt(test, { change(&$0, middle) }) { high = middle } else { low = middle + 1 }
    }
    return high
  }

  /// Removes each part without which the failure remains. Returns whether the failure is seen to need the rest.
  private nonisolated(nonsending) mutating func leaveOutEach<Part>(
    _ parts: WritableKeyPath<Self, [Part]>, _ test: Test
  ) async -> Bool {
    // The number of parts that were found necessary since the last removal.
    var (needed, index) = (0, 0)
    while needed < self[keyPath: parts].count, constraints.count + choices.count > 1 {
      guard mayGoOn else { return false }
      if await attempt(test, { $0[keyPath: parts].remove(at: index) }) {
        needed = 0
      } else {
        needed += 1
        index += 1
      }
      if index >= self[keyPath: parts].count { index = 0 }
    }
    return true
  }

  // MARK: - Constraints

  /// Finds the necessary constraints, provided that additional constraints never prevent the failure.
  ///
  /// The shortest prefix with which the failure occurs ends with a necessary constraint. That constraint is kept. The
  /// search continues among the earlier constraints until the kept ones are enough.
  private nonisolated(nonsending) mutating func leaveOutUnnecessary(_ test: Test) async {
    var needed: [Constraint] = []
    var rest = constraints[...]
    while mayGoOn {
      if await attempt(test, { $0.constraints = needed }) || rest.isEmpty { return }
      let shortest = await bisect(from: 1, to: rest.count, test) {
        $0.constraints = rest.prefix($1) + needed
      }
      needed.insert(rest[rest.startIndex + shortest - 1], at: 0)
      rest = rest.prefix(shortest - 1)
    }
  }

  /// Delays one step in each run, as long as possible. Returns the constraints of a failing run with at most one.
  ///
  /// A run with choices is of no use: it may have delayed the step by a stall, and then fails because of it.
  private nonisolated(nonsending) mutating func oneInstead(_ test: Test) async -> [Constraint]? {
    for constraint in constraints.prefix(8) where mayGoOn {
      runs += 1
      guard let record = await test(.delay(constraint.second)), record.choices.isEmpty
      else { continue }
      let found = record.constraints
      if found.count <= 1 { return found }
    }
    return nil
  }

  /// Replaces the first step of each constraint by an earlier one with which the failure remains, found by bisection.
  private nonisolated(nonsending) mutating func sharpen(_ test: Test) async {
    for index in constraints.indices where mayGoOn {
      guard let record = await run(test) else { continue }
      let candidates = record.skippedByAll(of: constraints[index].second)
      guard let last = candidates.firstIndex(of: constraints[index].first) else { continue }
      await bisect(from: 0, to: last, test) { $0.constraints[index].first = candidates[$1] }
    }
  }

  // MARK: - Choices

  /// Reduces the choices while the failure remains. Returns whether the failure is seen to need the rest.
  ///
  /// First tries fewer faults, then fewer other choices, and then smaller options.
  private nonisolated(nonsending) mutating func reduceChoices(_ test: Test) async -> Bool {
    await leaveOut(test) { $0.isFault }
    await leaveOut(test) { !$0.isFault }
    for index in choices.indices where choices[index].index > 1 { await reduce(at: index, test) }
    // A smaller option may make another choice unnecessary.
    return await leaveOutEach(\.choices, test)
  }

  /// Removes choices while the failure remains: tries all together, then halves, quarters, and so on, then each one.
  private nonisolated(nonsending) mutating func leaveOut(
    _ test: Test, _ isAsked: (Choice) -> Bool
  ) async {
    var size = choices.count(where: isAsked)
    while size > 0 {
      // Begins at the end, because the test may need the earlier choices just to reach the point of failure.
      var asked = choices.filter(isAsked)
      while !asked.isEmpty, mayGoOn {
        let part = asked.suffix(size)
        asked.removeLast(part.count)
        await attempt(test) { $0.choices.removeAll(where: part.contains) }
      }
      size = size == 1 ? 0 : (size + 1) / 2
    }
  }

  /// Gives a choice a smaller option with which the failure remains, if one is found.
  private nonisolated(nonsending) mutating func reduce(at index: Int, _ test: Test) async {
    // Begins with option 1: option 0 means that the choice is removed, which was tried already.
    var low = 1
    // The smallest options are tried one by one, because not every option above a failing option fails.
    while low < min(choices[index].index, 9), mayGoOn {
      if await !attempt(test, { $0.choices[index].index = low }) { low += 1 }
    }
    await bisect(from: low, to: choices[index].index, test) { $0.choices[index].index = $1 }
  }
}
