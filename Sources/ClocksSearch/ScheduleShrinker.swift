import ClocksSupport

/// Reduces the choices and the constraints of a failing run to those that the failure needs.
///
/// The shrinker first removes faults, then removes other choices or makes them smaller, then removes constraints:
/// a fault says more about a bug than an order does.
///
/// Bisection finds the necessary constraints one after the other, as in delta debugging (Zeller and
/// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002; Junker, "QuickXplain", 2004). Then
/// each constraint is removed if the same failure remains without it, and each remaining constraint gets the
/// earliest first step with which the failure remains. Both are repeated until nothing changes. With one
/// repetition, it takes O(k · log n) runs to find k of n constraints.
package struct ScheduleShrinker {
  /// Runs the test by this plan. Returns the record of the run if the same failure came, else `nil`.
  package typealias Test = nonisolated(nonsending) (Plan) async -> RunRecord?

  private let limit = 200
  /// When to stop, if more than 50 runs were made. Nearly all failures need fewer, and on a busy machine these runs
  /// may take longer.
  private let deadline: RealTime
  package private(set) var runs = 0
  /// Whether runs have shown that the failure needs each choice and each constraint.
  package private(set) var isMinimal = false
  /// The choices with which the failure remains, as few as possible.
  package internal(set) var choices: [Choice] = []
  /// Whether runs have shown that the failure needs each of these choices.
  var areChoicesMinimal = true

  package init(deadline: RealTime) { self.deadline = deadline }

  var mayGoOn: Bool { runs < limit && !(runs > 50 && deadline.hasPassed) }

  /// Returns as few constraints as possible. With them and with `choices`, the failure of the recorded run remains.
  package nonisolated(nonsending) mutating func shrink(
    _ record: RunRecord, _ test: Test
  ) async -> [Constraint] {
    var constraints = record.constraints
    choices = record.choices
    await reduceChoices(constraints, test)
    if constraints.isEmpty {
      isMinimal = areChoicesMinimal
      return []
    }
    if choices.isEmpty, constraints.count > 3, let one = await oneInstead(of: constraints, test) {
      constraints = one
    } else {
      constraints = await essential(constraints, test)
    }
    // A constraint with an earlier first step may make another one unnecessary, so both steps are repeated.
    while true {
      constraints = await leaveOutEach(constraints, test)
      let sharper = await sharpen(constraints, test)
      let known = choices
      if !known.isEmpty { await reduceChoices(sharper, test) }
      if sharper == constraints, choices == known {
        isMinimal = isMinimal && (choices.isEmpty || areChoicesMinimal)
        return constraints
      }
      constraints = sharper
      isMinimal = constraints.count + choices.count <= 1
    }
  }

  /// Returns the necessary constraints, provided that additional constraints never prevent the failure.
  ///
  /// The shortest prefix with which the failure comes ends with a necessary constraint. That constraint is kept,
  /// and the search goes on before it, until the kept constraints are enough.
  private nonisolated(nonsending) mutating func essential(
    _ all: [Constraint], _ test: Test
  ) async -> [Constraint] {
    var needed: [Constraint] = []
    var rest = all[...]
    while mayGoOn {
      if await fails(needed, test) { return needed }
      guard !rest.isEmpty else { break }
      var (low, high) = (1, rest.count)
      while low < high, mayGoOn {
        let middle = (low + high) / 2
        if await fails(Array(rest.prefix(middle)) + needed, test) {
          high = middle
        } else {
          low = middle + 1
        }
      }
      guard low == high else { break }
      needed.insert(rest[rest.startIndex + high - 1], at: 0)
      rest = rest.prefix(high - 1)
    }
    // A limit was reached. As far as is known, the failure remains with `rest` and `needed`.
    let known = Array(rest) + needed
    return known.count < all.count ? (await fails(known, test) ? known : all) : all
  }

  /// Delays one step in each run, as long as possible. Returns the constraints of a failing run with at most one.
  private nonisolated(nonsending) mutating func oneInstead(
    of constraints: [Constraint], _ test: Test
  ) async -> [Constraint]? {
    for constraint in constraints.prefix(8) where mayGoOn {
      runs += 1
      guard let record = await test(.delay(constraint.second)) else { continue }
      let found = record.constraints
      if found.count <= 1 { return found }
    }
    return nil
  }

  /// Removes each constraint without which the failure remains, until the failure needs every constraint left.
  private nonisolated(nonsending) mutating func leaveOutEach(
    _ constraints: [Constraint], _ test: Test
  ) async -> [Constraint] {
    var constraints = constraints
    var index = 0
    // The number of constraints that were found necessary since the last removal.
    var needed = 0
    while needed < constraints.count, constraints.count + choices.count > 1 {
      guard mayGoOn else { return constraints }
      var fewer = constraints
      fewer.remove(at: index)
      if await fails(fewer, test) {
        constraints = fewer
        needed = 0
      } else {
        needed += 1
        index += 1
      }
      if index >= constraints.count { index = 0 }
    }
    isMinimal = true
    return constraints
  }

  /// Gives each constraint the earliest first step with which the failure remains.
  private nonisolated(nonsending) mutating func sharpen(
    _ constraints: [Constraint], _ test: Test
  ) async -> [Constraint] {
    var constraints = constraints
    for index in constraints.indices where mayGoOn {
      guard let record = await run(constraints, test) else { continue }
      var candidates = record.skippedByAll(of: constraints[index].second)
      guard let last = candidates.firstIndex(of: constraints[index].first) else { continue }
      candidates = Array(candidates[...last])
      var (low, high) = (0, candidates.count - 1)
      while low < high, mayGoOn {
        let middle = (low + high) / 2
        var sharper = constraints
        sharper[index].first = candidates[middle]
        if await fails(sharper, test) { high = middle } else { low = middle + 1 }
      }
      // If the limit was reached, the known constraint stays.
      if low == high { constraints[index].first = candidates[high] }
    }
    return constraints
  }

  private nonisolated(nonsending) mutating func fails(
    _ constraints: [Constraint], _ test: Test
  ) async -> Bool {
    await run(constraints, test) != nil
  }

  private nonisolated(nonsending) mutating func run(
    _ constraints: [Constraint], _ test: Test
  ) async -> RunRecord? {
    await run(constraints, choices, test)
  }

  nonisolated(nonsending) mutating func run(
    _ constraints: [Constraint], _ choices: [Choice], _ test: Test
  ) async -> RunRecord? {
    runs += 1
    return await test(.constraints(constraints, choices: choices))
  }
}
