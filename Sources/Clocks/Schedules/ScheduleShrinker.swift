/// Finds the constraints without which a failure does not come.
///
/// Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002): parts
/// are left out, in halves at first and one by one at last, and a part stays out if the same failure comes
/// without it. Then each constraint is to wait for the earliest step that is enough.
struct ScheduleShrinker {
  /// Whether the same failure comes with these constraints; then, the record of that run.
  typealias Test = ([Constraint]) async -> RunRecord?

  /// The number of runs at most.
  var limit = 60
  /// When to stop, whatever is left.
  var deadline = RealTime(in: .milliseconds(200))
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
    var parts = 2
    while constraints.count > 1, mayGoOn {
      let size = (constraints.count + parts - 1) / parts
      var isSmaller = false
      for start in stride(from: 0, to: constraints.count, by: size) {
        guard mayGoOn else { break }
        let end = min(start + size, constraints.count)
        // What is left without the part; at first also the part alone.
        let part = Array(constraints[start..<end])
        if parts == 2, await fails(part, test) {
          (constraints, parts, isSmaller) = (part, 2, true)
          break
        }
        guard parts > 2 else { continue }
        let rest = Array(constraints[..<start] + constraints[end...])
        if await fails(rest, test) {
          (constraints, parts, isSmaller) = (rest, max(2, parts - 1), true)
          break
        }
      }
      if isSmaller { continue }
      if size == 1 {
        isMinimal = mayGoOn
        break
      }
      parts = min(constraints.count, parts * 2)
    }
    if constraints.count <= 1 { isMinimal = true }
    return await sharpen(constraints, test)
  }

  /// Has each constraint wait for the earliest step that is enough, which says best what matters.
  private mutating func sharpen(
    _ constraints: [Constraint], isolation: isolated (any Actor)? = #isolation, _ test: Test
  ) async -> [Constraint] {
    var constraints = constraints
    for index in constraints.indices where mayGoOn {
      guard let record = await run(constraints, test) else { continue }
      var candidates = record.overtakers(of: constraints[index].second)
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
    return await test(constraints)
  }
}
