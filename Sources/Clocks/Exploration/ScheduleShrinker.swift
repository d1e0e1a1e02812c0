import ClocksSupport

/// Finds the constraints without which a failure does not come.
///
/// Those that are needed are looked for by bisection, one after the other, as in delta debugging (Zeller and
/// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002; Junker, "QuickXplain", 2004); then
/// each of those that are left is left out, and stays out if the same failure comes without it. Then each
/// constraint is to wait for the earliest step that is enough. It takes O(k · log n) runs for k of n.
struct ScheduleShrinker {
  /// Whether the same failure comes by this plan; then, the record of that run.
  typealias Test = (Plan) async -> RunRecord?

  /// The number of runs at most.
  var limit = 60
  /// When to stop, whatever is left, but for the first few runs.
  var deadline = RealTime(in: .seconds(10))
  private(set) var runs = 0
  /// Whether it was tried to leave out each constraint that is left.
  private(set) var isMinimal = false

  private var mayGoOn: Bool { runs < limit && !(runs > 10 && deadline.hasPassed) }

  /// Makes the constraints as few as they can be.
  ///
  /// - Parameter record: The run in which the failure came.
  mutating func shrink(
    _ record: RunRecord, isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> [Constraint] {
    var constraints = record.constraints
    if constraints.count > 3, let one = await oneInstead(of: constraints, test) {
      constraints = one
    } else {
      constraints = await essential(constraints, test)
    }
    isMinimal = constraints.count <= 1
    if constraints.count > 1 { constraints = await leaveOutEach(constraints, test) }
    return await sharpen(constraints, test)
  }

  /// The constraints of which each is needed, if more constraints never keep the failure from coming.
  ///
  /// The shortest beginning with which the failure comes ends with one that is needed. It is kept, and the
  /// same is asked of what stands before it, until those that are kept are enough.
  private mutating func essential(
    _ all: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
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
    // What is left is enough, as far as is known.
    let known = Array(rest) + needed
    return known.count < all.count ? (await fails(known, test) ? known : all) : all
  }

  /// One constraint that is enough, if it is to keep one of the steps back for as long as anything else can
  /// run.
  private mutating func oneInstead(
    of constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> [Constraint]? {
    for constraint in constraints.prefix(8) where mayGoOn {
      runs += 1
      guard let record = await test(.hold(constraint.second)) else { continue }
      let found = record.constraints
      if found.count <= 1 { return found }
    }
    return nil
  }

  /// Leaves out one after the other, as long as the failure comes without it.
  private mutating func leaveOutEach(
    _ constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> [Constraint] {
    var constraints = constraints
    var index = 0
    while index < constraints.count {
      guard mayGoOn else { return constraints }
      var fewer = constraints
      fewer.remove(at: index)
      if await fails(fewer, test) { constraints = fewer } else { index += 1 }
    }
    isMinimal = true
    return constraints
  }

  /// Has each constraint wait for the earliest step that is enough, which says best what matters.
  private mutating func sharpen(
    _ constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
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
      // Where the search broke off, what is known to be enough stays.
      if low == high { constraints[index].first = candidates[high] }
    }
    return constraints
  }

  private mutating func fails(
    _ constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> Bool {
    await run(constraints, test) != nil
  }

  private mutating func run(
    _ constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> RunRecord? {
    runs += 1
    return await test(.constraints(constraints))
  }
}
