package struct HistoryBuilder {
  private typealias Moment = History.Moment
  private typealias Step = History.Step

  private let context: RecordingContext
  private var history: History
  /// For each id of a task in the history, the task's index.
  private var places: [UInt64: Int] = [:]
  private var unnamed = 0

  private var now: Moment
  /// Whether a job runs, and its task if that is known.
  private var running: (job: Bool, task: Int?) = (false, nil)
  private var actor: Int?
  private var lastActor: [Int: Int] = [:]
  /// The runtime's own task that resumes tasks whose sleep is over; 0 if none was seen yet.
  private var waker: UInt64 = 0
  /// The index of the open span of each task that sleeps, and of each external task.
  private var asleep: [Int: Int] = [:]
  private var external: [Int: Int] = [:]
  /// The tasks that were created and have done nothing yet. Some never do anything.
  private var births: [UInt64: (creator: Int?, at: Moment)] = [:]
  /// The tasks whose sleeps have ended and that have not become ready since.
  private var endedSleep: Set<Int> = []
  /// The task that became ready in the event before this one.
  private var justReady: Int?

  /// Returns the history of the latest events. O(n).
  ///
  /// - Parameters:
  ///   - count: The number of events that are kept; `dropped` earlier ones are not.
  ///   - limit: Only the latest `limit` events of those that are kept are used.
  ///   - forEachEvent: Passes the kept events to its argument, the earliest first.
  package static func build(
    _ context: RecordingContext, count: Int, dropped: Int = 0, limit: Int = .max,
    forEachEvent: ((RecordedEvent) -> Void) -> Void
  ) -> History {
    var builder = HistoryBuilder(context)
    let skipped = max(0, count - limit)
    var number = 0
    forEachEvent { event in
      number += 1
      if number > skipped { builder.take(event) } else { builder.skip(event) }
    }
    builder.history.eventCount = count + dropped
    builder.history.missingEvents = skipped + dropped
    return builder.finish()
  }

  private init(_ context: RecordingContext) {
    self.context = context
    now = Moment(time: context.start, job: 0)
    history = History(actors: context.actors, start: context.start, end: now)
  }

  /// Notes the facts of an event that is not shown, as far as later events need them.
  private mutating func skip(_ event: RecordedEvent) {
    switch event.kind {
    case .timeMoved where event.hasTime:
      now.time = max(now.time, event.time)
      history.start = now.time
    case .created: born(event.task, by: places[event.other])
    case .enqueued:
      see(event.task)
      history.steps = []
      history.links = []
    default: break
    }
  }

  private mutating func finish() -> History {
    for (task, span) in asleep {
      history.spans[span].end = now
      history.tasks[task].last = now
    }
    for span in external.values { history.spans[span].end = now }
    history.end = now
    history.running = running.task ?? places[context.root]
    return history
  }

  private mutating func take(_ event: RecordedEvent) {
    let onActor = event.actor == 0 ? nil : Int(event.actor) - 1
    switch event.kind {
    case .created, .began, .ended, .timeMoved: break
    default:
      // Only a task of the test does this: it became ready in an event that was dropped.
      if event.task == waker { waker = 0 }
    }
    switch event.kind {
    case .timeMoved:
      if event.hasTime { now.time = max(now.time, event.time) }
    case .created: born(event.task, by: acts(event.other, onActor))
    case .enqueued: isReady(event, onActor)
    case .began: begins(event, onActor)
    case .ended: running = (false, nil)
    case .slept: sleeps(event, onActor)
    case .woken: wakes(event.task)
    case .cancelled:
      guard let task = see(event.task) else { return }
      isCancelled(task, by: running.task)
      endedSleep.insert(task)
    case .becameExternal:
      guard let task = see(event.task) else { return }
      external[task] = beginSpan(of: task, .external)
      step(task, .becomesExternal)
    case .returned:
      guard let task = see(event.task), let span = external.removeValue(forKey: task) else {
        return
      }
      history.spans[span].end = now
      step(task, .returns)
    case .mark:
      let task = acts(event.task, onActor)
      guard let text = context.marks[event.other] else { return }
      history.marks.append(.init(task: task, at: now, text: text))
      step(task, .mark(text))
    }
  }

  private mutating func isReady(_ event: RecordedEvent, _ actor: Int?) {
    let resumer = acts(event.other, actor)
    let isNew = places[event.task] == nil
    guard let task = see(event.task) else { return }
    if isNew || endedSleep.remove(task) != nil {
      // There is already a step for the task's creation, or for the end of its sleep.
    } else if asleep[task] != nil {
      // A cancelled sleep on one of the runtime's clocks ends without an event.
      isCancelled(task, by: resumer)
    } else if let resumer, resumer != task {
      step(task, .effect(.resumed), by: resumer)
    }
    justReady = task
  }

  private mutating func begins(_ event: RecordedEvent, _ onActor: Int?) {
    actor = onActor
    running = (true, nil)
    guard let task = places[event.task] else {
      // The task was never seen to become ready. So it is the runtime's own task that wakes sleeping tasks.
      waker = event.task
      return
    }
    if justReady != task || (actor != nil && lastActor[task] != actor) {
      step(task, .runs(actor: actor))
    }
    lastActor[task] = actor
    start(task)
    justReady = nil
  }

  private mutating func sleeps(_ event: RecordedEvent, _ onActor: Int?) {
    // A task of no test joins this one when it sleeps on a clock of the test.
    guard let task = acts(event.task, onActor) ?? see(event.task) else { return }
    // A sleep that is cancelled before its task is suspended ends without an event.
    if asleep[task] != nil { isCancelled(task, by: nil) }
    let deadline = event.hasTime ? event.time : nil
    asleep[task] = beginSpan(of: task, .pending, until: deadline)
    step(task, .sleeps(until: deadline))
  }

  private mutating func beginSpan(
    of task: Int, _ kind: History.Span.Kind, until deadline: Duration? = nil
  ) -> Int {
    history.spans.append(.init(task: task, begin: now, end: now, deadline: deadline, kind: kind))
    return history.spans.count - 1
  }

  private mutating func wakes(_ id: UInt64) {
    guard let task = see(id) else { return }
    // The sleep lasts until the next job begins.
    end(task, .woken, at: Moment(time: now.time, job: now.job + 1))
    step(task, .wakes)
    endedSleep.insert(task)
    justReady = task
  }

  private mutating func isCancelled(_ task: Int, by canceller: Int?) {
    end(task, .cancelled, at: now)
    step(task, .effect(.cancelled), by: canceller == task ? nil : canceller)
  }

  private mutating func end(_ task: Int, _ kind: History.Span.Kind, at moment: Moment) {
    guard let span = asleep.removeValue(forKey: task) else { return }
    history.spans[span].end = moment
    history.spans[span].kind = kind
  }

  private mutating func born(_ id: UInt64, by creator: Int?) {
    guard id != context.root, places[id] == nil, births[id] == nil else { return }
    births[id] = (creator, now)
  }

  /// Returns the index of a task, and adds the task to the history if it is new; `nil` for no task.
  @discardableResult
  private mutating func see(_ id: UInt64) -> Int? {
    guard id != 0 else { return nil }
    if let place = places[id] {
      history.tasks[place].last = now
      return place
    }
    let place = history.tasks.count
    let birth = births.removeValue(forKey: id)
    let isRoot = id == context.root
    var task = History.Task(
      id: id, name: isRoot ? nil : context.names[id], isRoot: isRoot, parent: birth?.creator,
      first: birth?.at ?? now, last: now)
    if task.name == nil, !isRoot {
      unnamed += 1
      task.number = unnamed
    }
    places[id] = place
    history.tasks.append(task)
    if let birth { step(place, .effect(.created), by: birth.creator, at: birth.at) }
    return place
  }

  /// Notes that the running job is a job of a task, because that task does something now. Returns the task's index.
  @discardableResult
  private mutating func acts(_ id: UInt64, _ onActor: Int?) -> Int? {
    // The runtime's own task that wakes sleeping tasks does not belong to the history.
    guard id != 0, id != waker,
      places[id] != nil || births[id] != nil || id == context.root || running.job,
      let task = see(id)
    else { return nil }
    if let onActor { actor = onActor }
    if running.task == task {
      if let onActor, let last = history.jobs.indices.last { history.jobs[last].actor = onActor }
      return task
    }
    if !running.job { actor = onActor }
    start(task)
    return task
  }

  private mutating func start(_ task: Int) {
    running.task = task
    now.job += 1
    history.tasks[task].last = now
    history.jobs.append(.init(task: task, at: now, actor: actor))
  }

  private mutating func step(
    _ task: Int?, _ kind: Step.Kind, by other: Int? = nil, at moment: Moment? = nil
  ) {
    let moment = moment ?? now
    justReady = nil
    if let task, let other, case .effect(let kind) = kind {
      history.links.append(.init(from: other, to: task, at: moment, kind: kind))
    }
    history.steps.append(Step(time: moment.time, task: task, by: other, kind: kind))
  }
}
