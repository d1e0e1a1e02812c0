import ClocksSupport

/// Which schedules a search tries, in which order, and when it ends.
///
/// The first two schedules are first in, first out, which shows whether the test is deterministic. Then come the
/// schedules that failed before, and the order last in, first out. The other schedules are taken from these kinds in
/// turn, as long as there are any:
///
/// - if there seem to be few orders, all orders, those with the fewest deviations first;
/// - else schedules in which one step is delayed until no other step can run, and schedules in which two steps that
///   touch one actor are reversed; each new order is the origin of further reversals, breadth first;
/// - random orders of four kinds.
package final class ScheduleSearch {
  package struct Limits: Sendable {
    package var count: Int
    package var seed: UInt64
    /// If set, the search tries only reversals, and at most this many in one schedule.
    package var reversals: Int?
    package var shard: Shard
    package var bounds = Bounds()
    /// If a test seems to have more orders than this, the search does not try all orders.
    package var mostOrders = 1_000_000
    /// At most this number of orders are queued, so that the memory of a search without a count is bounded.
    package var mostQueued = 1_000_000
    /// Whether the search ends when it has not found a new class for long.
    package var endsWithClasses = false

    package init(count: Int, seed: UInt64, reversals: Int? = nil, shard: Shard = .whole) {
      self.count = count
      self.seed = seed
      self.reversals = reversals
      self.shard = shard
    }
  }

  /// The part of a search that one of several processes runs.
  package struct Shard: Sendable, Equatable {
    package var index: Int
    package var count: Int
    package static let whole = Shard(index: 0, count: 1)

    package init(index: Int, count: Int) {
      self.index = index
      self.count = count
    }
  }

  package enum End: Sendable, Equatable {
    case allOrders, allReversals, count, time, cancelled
    /// The search has not found a new class for long.
    case noNewClass
  }

  /// At most this number of reversals are queued, so that the memory of a long search is bounded.
  private static let mostReversals = 10_000
  private static let patienceForClasses = 1_000

  private let limits: Limits
  package private(set) var tried = 0
  package private(set) var coverage = Coverage()
  /// The number of classes that were first seen in the last tenth of the schedules.
  package var newClasses: Int { coverage.classes(after: tried - tried / 10) }
  package private(set) var profile = Profile()

  /// The plans with which the search begins, in reverse order.
  private var known: [Plan]
  private var delayed: ArraySlice<ScheduleStep> = []
  /// The constraints and choices of new orders, each with one more constraint or choice.
  private var reversals: ArraySlice<Plan> = []
  private var prefixes: ArraySlice<[UInt32]> = []
  /// Whether the search tries all orders.
  package private(set) var isComplete = false
  /// Whether the search skipped an order.
  private var hasGaps = false
  /// The plans with choices that were queued, in a search that counts reversals.
  private var triedChoices: Set<Plan> = []
  /// In a search that counts reversals: for each order whose reversals were queued, the smallest number of constraints
  /// of a plan that led to it.
  private var expanded: [UInt64: Int] = [:]
  private var randomPlans = 0
  private var turn = 0
  private var current: Plan?
  /// Whether the search ended before the plan that `next` returned last had a complete run.
  package var isCancelled = false

  /// - Parameter known: Schedules that failed before.
  package init(_ limits: Limits, known: [Plan] = []) {
    self.limits = limits
    self.known = [.firstInFirstOut, .firstInFirstOut] + known
    if limits.reversals == nil { self.known.append(.newestFirst) }
    self.known.reverse()
  }

  /// Returns the next schedule, or `nil` at the end of the search.
  package func next() -> Plan? {
    guard tried < max(limits.count, 1), !hasNoNewClass, let plan = nextPlan() else { return nil }
    tried += 1
    current = plan
    return plan
  }

  private func nextPlan() -> Plan? {
    if let plan = known.popLast() { return plan }
    guard limits.reversals == nil else { return reversals.popFirst() }
    if isComplete, end == .allOrders { return nil }
    turn += 1
    // Two of five plans are systematic, if any is left. If the search will try all orders, all plans are systematic.
    let isRandom = [2, 4, 0].contains(turn % 5)
    let willTryAll = isComplete && !hasGaps && tried >= 40
    if !isRandom || willTryAll, let plan = nextSystematic() { return plan }
    return nextRandom()
  }

  private func nextSystematic() -> Plan? {
    if turn % 2 == 1, let step = delayed.popFirst() { return .delay(step) }
    if isComplete, let choices = prefixes.popFirst() { return .prefix(choices) }
    if let reversal = reversals.popFirst() { return reversal }
    return delayed.popFirst().map(Plan.delay)
  }

  private func nextRandom() -> Plan {
    let number = randomPlans * limits.shard.count + limits.shard.index
    randomPlans += 1
    let seed = Mixer.mix(limits.seed, UInt64(number))
    // Each kind of plan has a share that follows how soon the kind finds bugs in real systems. In small tests
    // `priorities` repeats orders, and yet it finds some deep bugs first.
    switch number % 8 {
    case 1, 5: return .random(seed: seed)
    case 3: return .uniform(seed: seed)
    case 7: return .priorities(seed: seed, depth: 3)
    default: return .partialOrder(seed: seed)
    }
  }

  /// Learns from the run of the plan that `next` returned last, in which the test passed.
  ///
  /// - Parameter tree: The tree by which the record names its tasks.
  package func note(_ record: RunRecord, _ tree: TaskTree) {
    let isNew = coverage.add(record, number: tried)
    if tried == 1 { begin(record, tasks: tree.count) }
    guard let current else { return }
    // Known orders are expanded, too: if a random plan has led to this order before, its successors are not queued yet.
    if isComplete { expand(record, current) }
    guard !isComplete, case .constraints(let constraints, let choices) = current,
      mustExpand(record, isNewClass: isNew.class, constraints: constraints.count)
    else { return }
    let most =
      limits.reversals == nil ? min(200, Self.mostReversals - reversals.count) : Int.max / 8
    guard most > 0 else { return }
    let others = otherChoices(record, constraints, choices, most: most, tree)
    let found = newReversals(record, constraints, most: most - others.count)
    // Choices and constraints alternate, because there may be many of either.
    for index in 0..<max(found.count, others.count) {
      if index < others.count {
        reversals.append(.constraints(constraints, choices: choices + [others[index]]))
      }
      guard index < found.count, !constraints.contains(found[index]) else { continue }
      let reversal = Plan.constraints(constraints + [found[index]], choices: choices)
      if isMine(reversal, tree) { reversals.append(reversal) }
    }
  }

  /// Whether the reversals of an order are to be queued.
  ///
  /// The reversals of an order of a known class lead to known classes. Only a search that counts reversals tries them.
  /// It does so again if the order is reached with fewer constraints: a schedule that failed before may have more
  /// constraints than its order needs, which leaves fewer reversals to add.
  private func mustExpand(_ record: RunRecord, isNewClass: Bool, constraints: Int) -> Bool {
    guard limits.reversals != nil else { return isNewClass }
    guard constraints < expanded[record.hash, default: .max] else { return false }
    expanded[record.hash] = constraints
    return true
  }

  /// The constraints to add to those of a run: at most `most`, unless the search counts reversals.
  private func newReversals(
    _ record: RunRecord, _ constraints: [Constraint], most: Int
  ) -> [Constraint] {
    guard let limit = limits.reversals else {
      return constraints.count < 8 ? record.reversals(limit: most) : []
    }
    guard constraints.count < limit else { return [] }
    let found = record.reversals(limit: most)
    let known = Set(found)
    return found + record.alternatives(limit: most).filter { !known.contains($0) }
  }

  /// The choices that are still to be tried: all if the search counts reversals, else at most `most` / 2.
  private func otherChoices(
    _ record: RunRecord, _ constraints: [Constraint], _ choices: [Choice], most: Int,
    _ tree: TaskTree
  ) -> [Choice] {
    guard limits.reversals == nil else {
      return record.otherChoices(than: choices).filter { other in
        // Several orders lead to the same choices, which are tried once.
        let all = Plan.constraints(
          constraints, choices: (choices + [other]).sorted { $0.name.bits < $1.name.bits })
        return isMine(all, tree) && triedChoices.insert(all).inserted
      }
    }
    guard choices.count < 8 else { return [] }
    return Array(
      record.otherChoices(than: choices, most: 8).filter { other in
        isMine(.constraints(constraints, choices: choices + [other]), tree)
      }.prefix(most / 2))
  }

  /// Whether this shard tries the reversal. Shards divide up those that consist of a single choice or constraint.
  ///
  /// The hash is equal in all shards. The numbers of tasks differ if the shards know different failing schedules.
  private func isMine(_ reversal: Plan, _ tree: TaskTree) -> Bool {
    guard limits.shard.count > 1, case .constraints(let constraints, let choices) = reversal,
      constraints.count + choices.count == 1
    else { return true }
    let hash =
      constraints.first.map { Mixer.mix(tree.hash(of: $0.first), tree.hash(of: $0.second)) }
      ?? Mixer.mix(tree.hash(of: choices[0].name), UInt64(choices[0].index))
    return hash % UInt64(limits.shard.count) == UInt64(limits.shard.index)
  }

  /// Chooses the kind of search by the first run.
  private func begin(_ record: RunRecord, tasks: Int) {
    profile = record.profile(tasks: tasks)
    // If there is only one shard, its index is 0, so it keeps all steps.
    delayed =
      record.waiting.enumerated().filter { $0.offset % limits.shard.count == limits.shard.index }
      .map(\.element)[...]
    guard limits.reversals == nil else { return }
    isComplete = record.estimate(limits.bounds) <= Double(min(limits.count, limits.mostOrders))
    if isComplete { expand(record, .prefix([])) }
  }

  /// Queues the orders that differ from this order by one more decision, as many as can still be tried and kept.
  ///
  /// As in a random order, a yield gives way to all other steps. Each shard takes a part of the orders that
  /// differ from the first order, with all their successors.
  private func expand(_ record: RunRecord, _ plan: Plan) {
    guard case .prefix(let choices) = plan else { return }
    var number = 0
    for index in record.decisions.indices.dropFirst(choices.count) {
      // Beyond the step limit a run ignores its plan, so a longer plan would lead to a known order.
      guard record.decisions[index].step < profile.longest else {
        hasGaps = true
        return
      }
      let made = record.decisions[..<index].map { UInt32(truncatingIfNeeded: $0.chosen) }
      let decision = record.decisions[index]
      // The options of a random number are only some of the numbers that could be drawn.
      if decision.choice?.kind == .random { hasGaps = true }
      for choice in 1..<decision.count {
        if decision.choice == nil,
          record.candidates[decision.candidates.lowerBound + choice].isOther
        {
          continue
        }
        number += 1
        if choices.isEmpty, number % limits.shard.count != limits.shard.index { continue }
        guard prefixes.count < min(limits.count - tried, limits.mostQueued) else {
          hasGaps = true
          return
        }
        prefixes.append(made + [UInt32(truncatingIfNeeded: choice)])
      }
    }
  }

  package var waiting: Int { delayed.count + reversals.count + prefixes.count }

  /// Whether the last half of the runs, and at least the last 1,000, have found no new class.
  private var hasNoNewClass: Bool {
    guard limits.endsWithClasses, !isComplete || hasGaps else { return false }
    return tried - coverage.lastDiscovery >= max(Self.patienceForClasses, tried / 2)
  }

  /// Why `next` returns `nil`.
  package var end: End {
    if isCancelled { return .cancelled }
    if isComplete && !hasGaps && prefixes.isEmpty { return .allOrders }
    if limits.reversals != nil && reversals.isEmpty { return .allReversals }
    return hasNoNewClass ? .noNewClass : .count
  }
}

/// Reports the progress of a search about once a second.
package struct ProgressMeter {
  private let report: ((String) -> Void)?
  private let pause: Duration
  private let start = RealTime(in: .zero)
  private var next: RealTime

  package init(every pause: Duration = .seconds(1), report: ((String) -> Void)?) {
    self.report = report
    self.pause = pause
    next = RealTime(in: pause)
  }

  package mutating func ran(_ search: ScheduleSearch) {
    guard let report, search.tried & 0xF == 0, next.hasPassed else { return }
    next = RealTime(in: pause)
    let seconds = max(Double(start.nanosecondsSince) / 1e9, 0.001)
    report(
      """
      \(search.tried.grouped) schedules, \(search.coverage.orders.count.grouped) orders in \
      \(search.coverage.classes.count.grouped) classes, \(Int(Double(search.tried) / seconds).grouped) a second
      """)
  }
}
