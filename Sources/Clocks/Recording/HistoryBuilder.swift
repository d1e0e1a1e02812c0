/// Puts recorded events together to what happened.
struct HistoryBuilder {
  private typealias Moment = History.Moment
  private typealias Step = History.Step

  /// The number of steps that are kept for a reader.
  private static let keptSteps = 256

  private var history: History
  private var places: [UInt64: Int] = [:]
  private var names: [UInt64: String]
  private var unnamed = 0
  private let root: UInt64
  private let marks: [UInt64: String]

  private var now: Moment
  /// The place of the task whose job runs, as far as it is known, and whether a job runs at all.
  private var running: (job: Bool, task: Int?) = (false, nil)
  private var actor: Int?
  /// The actor on which each task was last, if it was on one.
  private var lastActor: [Int: Int] = [:]
  /// The runtime's own task that has a task go on whose sleep is over; 0 if there was none yet.
  private var waker: UInt64 = 0
  /// The tasks that sleep, each with the place of its sleep.
  private var asleep: [Int: Int] = [:]
  private var away: [Int: Moment] = [:]
  /// The tasks that have been created, and have done nothing yet: some never do.
  private var births: [UInt64: (creator: Int?, at: Moment)] = [:]
  /// The tasks whose sleeps have ended, and that have not become ready since.
  private var endedSleep: Set<Int> = []
  /// The task that has just become ready, if nothing else has happened since.
  private var justReady: Int?

  /// - Parameter limit: How many events are looked at, the latest ones.
  static func build(_ recording: Recording, limit: Int = .max) -> History {
    var builder = HistoryBuilder(recording)
    let skipped = max(0, recording.events.count - limit)
    var number = 0
    recording.events.waitForCurrentJobAndTask { event in
      number += 1
      if number > skipped { builder.take(event) } else { builder.skip(event) }
    }
    builder.history.eventCount = recording.events.count + recording.events.dropped
    builder.history.missingEvents = skipped + recording.events.dropped
    return builder.finish()
  }

  private init(_ recording: Recording) {
    now = Moment(time: recording.start, job: 0)
    history = History(start: recording.start, end: now)
    history.actors = recording.actors
    names = recording.names
    root = recording.root
    marks = recording.marks
  }

  /// Takes of an event that is not looked at what later ones need.
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
    for (task, place) in asleep {
      history.sleeps[place].end = now
      history.tasks[task].last = now
    }
    for (task, begin) in away {
      history.absences.append(.init(task: task, begin: begin, end: now))
    }
    history.end = now
    history.running = running.task ?? places[root]
    return history
  }

  // MARK: - Events

  private mutating func take(_ event: RecordedEvent) {
    let onActor = event.actor == 0 ? nil : Int(event.actor) - 1
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
    case .wentAway:
      guard let task = see(event.task) else { return }
      away[task] = now
      step(task, .goesAway)
    case .cameBack:
      guard let task = see(event.task), let begin = away.removeValue(forKey: task) else { return }
      history.absences.append(.init(task: task, begin: begin, end: now))
      step(task, .comesBack)
    case .mark:
      let task = acts(event.task, onActor)
      guard let text = marks[event.other] else { return }
      history.marks.append(.init(task: task, at: now, text: text))
      step(task, .mark(text))
    }
  }

  private mutating func isReady(_ event: RecordedEvent, _ actor: Int?) {
    let resumer = acts(event.other, actor)
    let isNew = places[event.task] == nil
    guard let task = see(event.task) else { return }
    if isNew || endedSleep.remove(task) != nil {
      // That has been said.
    } else if asleep[task] != nil {
      // A sleep on a clock of the runtime's that is cancelled ends without a word.
      isCancelled(task, by: resumer)
    } else if let resumer, resumer != task {
      step(task, .resumed, by: resumer)
      link(resumer, task, .resumed, at: now)
    }
    justReady = task
  }

  private mutating func begins(_ event: RecordedEvent, _ onActor: Int?) {
    actor = onActor
    running = (true, nil)
    guard let task = places[event.task] else {
      // A job that became ready by itself is the runtime's own, which wakes a sleeping task.
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
    guard let task = acts(event.task, onActor) else { return }
    let deadline = event.hasTime ? event.time : nil
    asleep[task] = history.sleeps.count
    history.sleeps.append(
      .init(task: task, begin: now, end: now, deadline: deadline, how: .pending))
    step(task, .sleeps(until: deadline))
  }

  private mutating func wakes(_ id: UInt64) {
    guard let task = see(id) else { return }
    // A sleep lasts until the job begins that comes next.
    end(task, .woken, at: Moment(time: now.time, job: now.job + 1))
    step(task, .wakes)
    endedSleep.insert(task)
    justReady = task
  }

  private mutating func isCancelled(_ task: Int, by canceller: Int?) {
    end(task, .cancelled, at: now)
    let other = canceller == task ? nil : canceller
    step(task, .isCancelled, by: other)
    if let other { link(other, task, .cancelled, at: now) }
  }

  private mutating func end(_ task: Int, _ how: History.Sleep.End, at moment: Moment) {
    guard let sleep = asleep.removeValue(forKey: task) else { return }
    history.sleeps[sleep].end = moment
    history.sleeps[sleep].how = how
  }

  // MARK: - Tasks

  /// Notes that a task was created.
  private mutating func born(_ id: UInt64, by creator: Int?) {
    guard id != root, places[id] == nil, births[id] == nil else { return }
    births[id] = (creator, now)
  }

  /// The place of a task; `nil` if there is none. What is seen for the first time has a place from now on.
  @discardableResult
  private mutating func see(_ id: UInt64) -> Int? {
    guard id != 0 else { return nil }
    if let place = places[id] {
      history.tasks[place].last = now
      return place
    }
    let place = history.tasks.count
    let birth = births.removeValue(forKey: id)
    var task = History.Task(
      id: id, name: id == root ? nil : names[id], isRoot: id == root, parent: birth?.creator,
      first: birth?.at ?? now, last: now)
    if task.name == nil, !task.isRoot {
      unnamed += 1
      task.number = unnamed
    }
    places[id] = place
    history.tasks.append(task)
    if let birth {
      step(place, .created, by: birth.creator, at: birth.at)
      if let creator = birth.creator { link(creator, place, .created, at: birth.at) }
    }
    return place
  }

  /// Notes that a task does something now: then the job that runs is its own.
  @discardableResult
  private mutating func acts(_ id: UInt64, _ onActor: Int?) -> Int? {
    // The task that began the test from outside is none of it.
    guard id != 0, id != waker, places[id] != nil || births[id] != nil || id == root || running.job,
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

  /// Begins a job of a task's, or a piece of one.
  private mutating func start(_ task: Int) {
    running.task = task
    now.job += 1
    history.tasks[task].last = now
    history.jobs.append(.init(task: task, at: now, actor: actor))
  }

  private mutating func link(
    _ from: Int, _ to: Int, _ kind: History.Link.Kind, at moment: Moment
  ) {
    history.links.append(.init(from: from, to: to, at: moment, kind: kind))
  }

  private mutating func step(
    _ task: Int?, _ kind: Step.Kind, by other: Int? = nil, at moment: Moment? = nil
  ) {
    justReady = nil
    history.steps.append(Step(time: (moment ?? now).time, task: task, by: other, kind: kind))
    guard history.steps.count >= Self.keptSteps * 2 else { return }
    history.steps.removeFirst(Self.keptSteps)
    history.earlierSteps += Self.keptSteps
  }
}
