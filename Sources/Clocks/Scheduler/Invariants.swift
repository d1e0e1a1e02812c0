import ClocksDrawing
import ClocksSupport
import Synchronization

/// The invariants that a test stated.
///
/// A part of the scheduler's state, guarded by its lock. The conditions are the user's code, so they are called
/// without the lock, on the scheduler's thread between two jobs: then no other job of the scheduler runs.
struct Invariants {
  struct Invariant: Sendable {
    let number: Int
    let kind: Kind
    let name: String
    let condition: Condition
    /// Where the invariant was stated.
    let site: CallSite
    /// Records the failure where the invariant was stated, so that it can be a known issue there.
    ///
    /// `nil` if the stating task belongs to no test.
    let context: TestContext?
    /// The number of jobs that have run since the invariant was stated.
    var steps = 0
  }

  enum Kind: Sendable, Equatable {
    case always
    case eventually(within: Int)
  }

  /// Calls a condition. The search decides nothing within the call, because a condition is not a part of a step.
  static func holds(_ condition: () -> Bool) -> Bool {
    let context = ThreadContext.current
    context?.pointee.isInCondition = true
    defer { context?.pointee.isInCondition = false }
    return condition()
  }

  enum Condition: Sendable {
    case anywhere(@Sendable () -> Bool)
    /// Called on the main thread.
    case onMain(@Sendable () -> Bool)
    case onActor(ActorCondition)
  }

  private var all: [Invariant] = []
  private var nextNumber = 0

  mutating func add(
    _ kind: Kind, _ name: String, _ condition: Condition, at site: CallSite,
    _ context: TestContext? = nil
  ) {
    all.append(
      Invariant(
        number: nextNumber, kind: kind, name: name, condition: condition, site: site,
        context: context))
    nextNumber += 1
  }

  /// Counts one more job for each invariant, and returns all invariants.
  mutating func afterJob() -> [Invariant] {
    for index in all.indices { all[index].steps += 1 }
    return all
  }

  /// Removes an invariant; returns `false` if it was removed before.
  mutating func remove(_ number: Int) -> Bool {
    guard let index = all.firstIndex(where: { $0.number == number }) else { return false }
    all.remove(at: index)
    return true
  }

  mutating func takeAll() -> [Invariant] {
    defer { all = [] }
    return all
  }
}

/// A condition on the state of an actor.
///
/// A task that hops to the actor checks the condition. So the check is isolated like any job of the actor, even if
/// other tests use the actor. Between two jobs the actor is free and the hop takes place inline, so the check ends
/// before the next job begins. If another thread runs the actor at that moment, the check follows when the actor is
/// free. Jobs that other threads enqueue during the check follow in a drain, on a thread of the pool.
final class ActorCondition: Sendable {
  let actor: ObjectIdentifier
  let holds: @Sendable () async -> Bool
  /// Whether a check waits for the actor.
  private let isPending = Atomic(false)

  init<A: Actor>(_ actor: A, _ condition: @escaping @Sendable (isolated A) -> Bool) {
    self.actor = ObjectIdentifier(actor)
    holds = { await Self.check(condition, on: actor) }
  }

  private static func check<A: Actor>(
    _ condition: @Sendable (isolated A) -> Bool, on actor: isolated A
  ) -> Bool {
    Invariants.holds { condition(actor) }
  }

  /// Returns whether the condition holds now; `nil` if the actor is not free. Not to be called on the actor.
  func holdsNow() -> Bool? {
    // The answer is an object, because another thread may still write it after this function returns.
    let answer = Answer()
    check { answer.holds.store($0 ? 1 : 0, ordering: .relaxed) }
    let known = answer.holds.load(ordering: .relaxed)
    return known < 0 ? nil : known == 1
  }

  private final class Answer: Sendable {
    /// 1 if the condition holds, and 0 if not; -1 until this is known.
    let holds = Atomic<Int>(-1)
  }

  /// Checks the condition on the actor and passes the answer to `result`, unless an earlier check still waits.
  func check(_ result: @escaping @Sendable (Bool) -> Void) {
    guard !isPending.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // The task belongs to no test, so its jobs are not steps. It prefers no executor, so it hops inline.
    let job = ThreadContext.capturingNextJob {
      Task.detached { [self] in
        let holds = await holds()
        isPending.store(false, ordering: .releasing)
        result(holds)
      }
    }
    guard let job else { return }
    // Captures no job: what is enqueued meanwhile belongs to others.
    var context = ThreadContext()
    context.run { _ in RuntimeHooks.run(job, on: .pool) }
  }
}

/// Where a job begins, for the report of an invariant that does not hold after the job.
///
/// In most runs of a search failures are not reported, so there the place is only the task.
struct JobPlace {
  var task: UInt64
  var name: String?
  /// The type of the actor that is drained.
  var actor: String?
  /// The functions with which each task continues, the innermost first.
  var functions: [[UInt]] = []

  /// Called before the job runs, because a task that runs cannot be read.
  init(_ job: ReadyJob, _ reader: TaskReader?) {
    task = job.taskID
    guard let reader else { return }
    if job.taskID != 0 {
      name = UnownedTask(job: job.job).name
      functions = [reader.functions(of: job.job)]
    } else if Hops.missing == nil, let drain = ActorDrain(job.job) {
      actor = drain.typeName
      functions = drain.jobs.reversed().map(reader.functions)
    }
  }
}

extension Scheduler {
  /// Adds an invariant, which is checked at the end of the current job for the first time.
  func state(
    _ kind: Invariants.Kind, _ name: String, _ condition: Invariants.Condition, at site: CallSite
  ) {
    let isShown = scope?.options.isOneOfMany != true
    let reader = isShown ? change { $0.scope?.placeReader } ?? TaskReader(CodeImages()) : nil
    let isRecordedInTest = scope?.invariantFails == nil && SwiftTesting.isRunningThisTask
    let context = isRecordedInTest ? TestContext() : nil
    change { state in
      state.scope?.placeReader = reader
      state.scope?.invariants.add(kind, name, condition, at: site, context)
    }
    hasInvariants.store(true, ordering: .releasing)
    areJobsWatched.store(true, ordering: .releasing)
  }

  /// Checks the invariants between two jobs, on the scheduler's thread.
  @inline(never)
  func checkInvariants(
    after place: JobPlace?, on executor: ExecutorKind,
    _ context: UnsafeMutablePointer<ThreadContext>
  ) {
    let all = change { $0.isAbandoned ? [] : $0.scope?.invariants.afterJob() ?? [] }
    // Conditions read virtual time, as jobs do.
    context.pointee.isInJob = true
    defer { context.pointee.isInJob = false }
    for invariant in all {
      switch invariant.condition {
      case .anywhere(let holds): judge(invariant, Invariants.holds(holds), after: place)
      case .onMain(let holds):
        if executor == .main { judge(invariant, Invariants.holds(holds), after: place) }
      case .onActor(let condition):
        // If a drain of the actor is ready, the condition is checked after that drain.
        guard !isDrainReady(of: condition.actor) else { continue }
        condition.check { [self] in judge(invariant, $0, after: place) }
      }
    }
  }

  private func isDrainReady(of actor: ObjectIdentifier) -> Bool {
    // If hops cannot be seen, the layout of actor drains is not verified either.
    guard Hops.missing == nil else { return false }
    return change { state in
      for position in 0..<state.idleness.ready.count {
        let job = state.idleness.ready[position]
        if job.taskID == 0, ActorDrain(job.job)?.actor == actor { return true }
      }
      return false
    }
  }

  /// Records the failure of an invariant, unless it holds, or may still become true. `isEnd`: at the end of the scope.
  private func judge(
    _ invariant: Invariants.Invariant, _ holds: Bool, after place: JobPlace?, isEnd: Bool = false
  ) {
    let isDecided =
      switch invariant.kind {
      case .always: !holds
      // The check at the end of the job that states the invariant does not count as a step.
      case .eventually(let limit): holds || invariant.steps > limit
      }
    guard isEnd || isDecided && remove(invariant), !holds else { return }
    switch invariant.kind {
    case .always:
      let place = isEnd ? "at the end" : text(place)
      fail(invariant, "always(\"\(invariant.name)\") does not hold at \(timeText), \(place).")
    case .eventually(let limit):
      let state =
        isEnd
        ? "the scope ends at \(timeText), after \(invariant.steps)"
        : "it is false at \(timeText), \(text(place))"
      fail(
        invariant,
        "eventually(\"\(invariant.name)\") has not become true within \(limit) steps: \(state).")
    }
  }

  private func remove(_ invariant: Invariants.Invariant) -> Bool {
    change { $0.scope?.invariants.remove(invariant.number) ?? false }
  }

  private var timeText: String { change { $0.scope?.virtualClock.now ?? .zero }.inSeconds }

  /// For example `after step b.1@ of the actor Raft`, or `after a job of task "writer" (#12), which began in save()
  /// line 20`.
  private func text(_ place: JobPlace?) -> String {
    guard let place else { return "in the job that states it" }
    let (step, reader) = change { ($0.order.chooser?.latestStep, $0.scope?.placeReader) }
    let job =
      place.actor.map { "of the actor \($0)" }
      ?? "of " + (place.task == 0 ? "the runtime" : "task \(TaskLabel.of(place.task, place.name))")
    var text = "after " + (step.map { "step \($0) \(job)" } ?? "a job \(job)")
    guard let reader else { return text }
    let symbols = Symbols(of: Set(place.functions.flatMap(\.self)), in: reader.images)
    let places = place.functions.compactMap(symbols.place)
    if !places.isEmpty { text += ", which began in \(places.joined(separator: ", "))" }
    return text
  }

  private func fail(_ invariant: Invariants.Invariant, _ text: String) {
    let site = invariant.site
    change { $0.order.chooser?.stepFails() }
    let text = text + explanation
    if let invariantFails = scope?.invariantFails { return invariantFails(text, site) }
    guard let context = invariant.context else {
      return report.runInTest { recordFailure(text, at: site) }
    }
    context.run { recordFailure(text, at: site) }
  }

  /// Checks the invariants for the last time: the body of the scope has returned.
  func endInvariants(isolation: isolated (any Actor)? = #isolation) async {
    guard hasInvariants.load(ordering: .acquiring) else { return }
    hasInvariants.store(false, ordering: .relaxed)
    let current = isolation.map { ObjectIdentifier($0) }
    let isOnMain = isolation is MainActor
    for invariant in change({ $0.scope?.invariants.takeAll() ?? [] }) {
      let holds =
        switch invariant.condition {
        case .anywhere(let holds): Invariants.holds(holds)
        // If this is not the main thread, the condition was checked after the last job on the main thread.
        case .onMain(let holds): !isOnMain || Invariants.holds(holds)
        case .onActor(let condition) where condition.actor == current: await condition.holds()
        // If work outside the test or the actor's executor occupies the actor, the condition counts as true.
        case .onActor(let condition): condition.holdsNow() ?? true
        }
      judge(invariant, holds, after: nil, isEnd: true)
    }
  }
}
