/// Which schedules a search tries, in which order, and when it has tried all.
///
/// First in, first out comes twice, so that it is known whether the test does the same in the same order.
/// Then come the opposite, and in turn, for as long as there are any:
///
/// - if there seem to be few orders, all of them, those that differ least first;
/// - else one step held back for as long as anything else can run, and two steps turned round that touch
///   the same actor; and from each new order that comes of it the same again, breadth first;
/// - and orders by chance, of four kinds in turn.
struct ScheduleSearch: Sendable {
  /// How many schedules a search tries at most, and with what it begins to throw dice.
  struct Limits: Sendable {
    var count: Int
    var seed: UInt64
    /// Only reversals, and of no more than so many pairs at once; `nil` for all that there is.
    var reversals: Int?
    /// Which part of the schedules that are thrown this process tries: one of several that share them.
    var shard = Shard.whole
  }

  /// One of several processes that share a search.
  struct Shard: Sendable, Equatable {
    var index: Int
    var count: Int
    static let whole = Shard(index: 0, count: 1)
  }

  /// Why a search ended.
  enum End: Sendable, Equatable {
    /// There is no order that was not tried.
    case allOrders
    /// There is no reversal of as many pairs that was not tried.
    case allReversals
    /// As many schedules were tried as were asked for.
    case count
    /// The time was over.
    case time
  }

  /// As many reversals wait for their turn at most, so that a long search does not grow.
  private static let mostReversals = 10_000
  /// No test is gone through in all orders that seems to have more.
  private static let mostOrders = 1_000_000

  /// Constraints of which came a new order, and one more.
  private struct Reversal {
    var constraints: [Constraint]
    var last: Constraint

    var plan: Plan { .constraints(constraints + [last]) }
  }

  private let limits: Limits
  /// The number of schedules that were given out.
  private(set) var tried = 0
  /// The orders that came of them, by their hashes.
  private(set) var orders: Set<UInt64> = []
  /// What the first run was like.
  private(set) var profile = Profile()

  private var known: [Plan]
  private var holds: ArraySlice<ScheduleStep> = []
  private var reversals = Queue<Reversal>()
  private var prefixes = Queue<[UInt16]>()
  /// Whether all orders are gone through one by one.
  private(set) var isComplete = false
  /// Whether one of them was left out.
  private var hasGaps = false
  private var chance = 0
  private var turn = 0
  /// The plan whose run is to be noted.
  private var current: Plan?

  /// - Parameter known: Schedules that have failed before; they are tried first.
  init(_ limits: Limits, known: [Plan] = []) {
    self.limits = limits
    self.known = [.firstInFirstOut, .firstInFirstOut] + known
    if limits.reversals == nil { self.known.append(.newestFirst) }
    self.known.reverse()
  }

  /// The next schedule; `nil` if there is no other, or enough were tried.
  mutating func next() -> Plan? {
    // As long as what every search begins with is not counted, a small number is enough for it.
    guard tried < max(limits.count, 1) else { return nil }
    guard let plan = nextPlan() else { return nil }
    tried += 1
    current = plan
    return plan
  }

  private mutating func nextPlan() -> Plan? {
    if let plan = known.popLast() { return plan }
    guard limits.reversals == nil else {
      return reversals.popFirst()?.plan
    }
    if isComplete, end == .allOrders { return nil }
    turn += 1
    // Two of five steps are taken by a system, as long as it has one; all of them when it is to go through
    // all orders, and will.
    let isRandom = [2, 4, 0].contains(turn % 5)
    if !isRandom || isSure, let plan = nextSystematic() { return plan }
    return nextRandom()
  }

  /// Whether all orders will be gone through, so that nothing is left to chance.
  private var isSure: Bool { isComplete && !hasGaps && tried >= 40 }

  private mutating func nextSystematic() -> Plan? {
    let isDelay = turn % 2 == 1
    if isDelay, let step = holds.popFirst() { return .hold(step) }
    if isComplete, let choices = prefixes.popFirst() { return .prefix(choices) }
    if let reversal = reversals.popFirst() { return reversal.plan }
    return holds.popFirst().map(Plan.hold)
  }

  private mutating func nextRandom() -> Plan {
    let number = chance * limits.shard.count + limits.shard.index
    chance += 1
    let seed = Mixer.mix(limits.seed, UInt64(number))
    switch number % 5 {
    case 0: return .uniform(seed: seed)
    case 1: return .priorities(seed: seed, depth: 2)
    case 2: return .partialOrder(seed: seed)
    case 3: return .priorities(seed: seed, depth: 3)
    default: return .random(seed: seed)
    }
  }

  /// Learns what came of the plan that was given out last, for which the test has passed.
  ///
  /// - Parameter tasks: The number of tasks that are known.
  mutating func note(_ record: RunRecord, tasks: Int) {
    let isNew = orders.insert(record.hash).inserted
    if orders.count == 1, tried == 1 { begin(record, tasks: tasks) }
    guard let current else { return }
    // Also if chance has come upon this order before: what differs from it in one decision more has not
    // been queued yet.
    if isComplete { expand(record, current) }
    guard isNew, !isComplete, case .constraints(let constraints) = current,
      constraints.count < limits.reversals ?? 8
    else { return }
    let most =
      limits.reversals == nil ? min(200, Self.mostReversals - reversals.count) : Int.max / 8
    guard most > 0 else { return }
    let found = record.reversals(limit: most)
    for index in 0..<found.count {
      guard !Self.contains(constraints, found[index]), mine(constraints, found[index]) else {
        continue
      }
      reversals.append(Reversal(constraints: constraints, last: found[index]))
    }
  }

  private static func contains(_ constraints: [Constraint], _ other: Constraint) -> Bool {
    for index in 0..<constraints.count
    where constraints[index].first.bits == other.first.bits
      && constraints[index].second.bits == other.second.bits
    {
      return true
    }
    return false
  }

  /// Processes that share a search share its first reversals.
  // It changes nothing, but the search is not copied for it in a debug build.
  private mutating func mine(_ constraints: [Constraint], _ constraint: Constraint) -> Bool {
    guard limits.shard.count > 1, constraints.isEmpty else { return true }
    let hash = Mixer.mix(constraint.first.bits, constraint.second.bits)
    return hash % UInt64(limits.shard.count) == UInt64(limits.shard.index)
  }

  /// Learns from the very first run how many orders there are about.
  private mutating func begin(_ record: RunRecord, tasks: Int) {
    profile = record.profile(tasks: tasks)
    let waiting = record.waiting
    holds =
      waiting.enumerated().filter {
        limits.shard.count == 1 || $0.offset % limits.shard.count == limits.shard.index
      }.map(\.element)[...]
    guard limits.reversals == nil else { return }
    isComplete = record.estimate <= Double(min(limits.count, Self.mostOrders))
    if isComplete { expand(record, .prefix([])) }
  }

  /// Adds the orders that differ from this one by one decision more, made later, as many as can still be
  /// tried. Whoever yields lets all others go first, also here. Processes that share a search share those
  /// that differ from the first one, each with all that comes of it.
  private mutating func expand(_ record: RunRecord, _ plan: Plan) {
    guard case .prefix(let choices) = plan else { return }
    var number = 0
    for index in record.decisions.indices.dropFirst(choices.count) {
      // From then on nothing else is decided: the order would be one that was tried.
      guard record.decisions[index].step < profile.longest else {
        hasGaps = true
        return
      }
      let made = record.decisions[..<index].map { UInt16(truncatingIfNeeded: $0.chosen) }
      let candidates = record.decisions[index].candidates
      for other in candidates.indices.dropFirst(1) where !record.candidates[other].isOther {
        let choice = other - candidates.lowerBound
        number += 1
        if choices.isEmpty, number % limits.shard.count != limits.shard.index { continue }
        guard prefixes.count < limits.count - tried else {
          hasGaps = true
          return
        }
        prefixes.append(made + [UInt16(truncatingIfNeeded: choice)])
      }
    }
  }

  /// How many schedules wait for their turn.
  var waiting: Int { holds.count + reversals.count + prefixes.count }

  /// Why there is no next schedule.
  var end: End {
    if isComplete && !hasGaps && prefixes.isEmpty { return .allOrders }
    return limits.reversals != nil && reversals.isEmpty ? .allReversals : .count
  }
}

/// What is taken out in the order in which it was put in, in amortized O(1).
struct Queue<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }

  // Transparent, so that a debug build calls no generic function of ours.
  @_transparent
  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    defer {
      head += 1
      if head >= 64, head * 2 >= elements.count {
        elements.removeFirst(head)
        head = 0
      }
    }
    return elements[head]
  }
}
