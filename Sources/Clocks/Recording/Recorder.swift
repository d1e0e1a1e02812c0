import ClocksSupport

/// Records what happens in a test.
///
/// An event costs a lock, a comparison and 40 bytes; nothing is named or drawn before somebody asks.
/// Memory is bounded: the earliest events are dropped first.
final class Recorder: EventListener {
  /// What is recorded at most, if nothing else is said: some 40 MB.
  static let standardLimit = 1_000_000
  private static let mostNames = 100_000

  /// Guards what follows. It is taken under the scheduler's lock, and nothing is taken under it.
  private let lock = Lock(.leaf)
  // It makes every access exclusive, so they are not checked a second time.
  @exclusivity(unchecked) nonisolated(unsafe) private var events: EventStore
  /// The names of the tasks that have one.
  @exclusivity(unchecked) nonisolated(unsafe) private var names: [UInt64: String] = [:]
  /// The tasks that were asked for their names.
  @exclusivity(unchecked) nonisolated(unsafe) private var asked: Set<UInt64> = []
  @exclusivity(unchecked) nonisolated(unsafe) private var marks: [UInt64: String] = [:]
  @exclusivity(unchecked) nonisolated(unsafe) private var nextMark: UInt64 = 1
  /// The actors that were seen; the place of each is its number less one.
  @exclusivity(unchecked) nonisolated(unsafe) private var actors: [AnyObject.Type] = [
    MainActor.self
  ]
  /// The task that runs the test itself, if it is known.
  @exclusivity(unchecked) nonisolated(unsafe) private var root: UInt64 = 0
  /// Where time stood when the recording began.
  private let start: Duration
  /// What the test is called.
  let title: String
  /// How many lines are added to a failure.
  private let lines: Int
  /// What is to become of the recording in the end, unless that has been done.
  nonisolated(unsafe) private var delivery: (@Sendable (RecordedTimeline) -> Void)?

  init(
    _ title: String = "", limit: Int = standardLimit, lines: Int = 40,
    startingAt start: Duration = .zero,
    delivery: (@Sendable (RecordedTimeline) -> Void)? = nil
  ) {
    self.title = title
    self.lines = lines
    self.delivery = delivery
    events = EventStore(limit: limit)
    self.start = start
    // Found out here, where no lock is held.
    _ = TaskName.isReadable
  }

  // It delivers nothing here: whoever takes it from a scheduler may hold that one's lock.
  deinit { lock.destroy() }

  /// Does with the recording what is to become of it, once.
  func deliver() {
    let delivery = lock.withLock {
      defer { self.delivery = nil }
      return self.delivery
    }
    delivery?(timeline)
  }

  /// Has nothing become of the recording.
  func drop() { lock.withLock { delivery = nil } }

  /// What has been recorded so far.
  var timeline: RecordedTimeline { RecordedTimeline(title: title, recording) }

  /// Notes that the current task runs the test itself.
  func beginTest() {
    guard let task = UnownedTask.currentID else { return }
    lock.withLock { root = task }
  }

  /// Adds a mark of the current task's. O(1).
  func mark(_ text: String) {
    let task = UnownedTask.currentID ?? 0
    lock.withLock {
      events.append(
        RecordedEvent(kind: .mark, actor: currentActor(), task: task, other: nextMark))
      marks[nextMark] = text
      if marks.count > Self.mostNames { marks[nextMark - UInt64(Self.mostNames)] = nil }
      nextMark += 1
    }
  }

  /// What has been recorded so far. O(tasks with a name).
  var recording: Recording {
    lock.withLock {
      Recording(
        events: events, start: start, root: root, names: names, marks: marks,
        actors: actors.map { "\($0)" })
    }
  }

  // MARK: - As a listener

  /// A test that only has a clock is over when its last clock is gone.
  func isOver() { deliver() }

  var explanation: String? { timeline.explanation(lines: lines) }

  func see(_ task: UnownedJob, _ id: UInt64) {
    let name = TaskName.of(task)
    lock.withLock {
      if asked.count < Self.mostNames { asked.insert(id) }
      if let name { setName(of: id, to: name) }
    }
  }

  func hear(_ event: SchedulerEvent) {
    lock.withLock {
      switch event {
      case .taskCreated(let task, let creator):
        events.append(
          RecordedEvent(kind: .created, actor: currentActor(), task: task, other: creator))
      case .jobEnqueued(let task, let resumer, _):
        let actor = resumer == 0 ? 0 : currentActor()
        events.append(
          RecordedEvent(kind: .enqueued, actor: actor, task: task, other: resumer))
      case .jobBegan(let task, let lane):
        events.append(
          RecordedEvent(kind: .began, actor: lane == .main ? 1 : 0, task: task))
      case .jobEnded(let task):
        events.append(RecordedEvent(kind: .ended, task: task))
      case .sleepRegistered(_, let task, let deadline):
        askForName(task)
        events.append(
          RecordedEvent(
            kind: .slept, actor: currentActor(), hasTime: deadline != nil, task: task,
            time: deadline ?? .zero))
      case .sleepWoken(_, let task):
        events.append(RecordedEvent(kind: .woken, task: task))
      case .sleepCancelled(_, let task):
        events.append(RecordedEvent(kind: .cancelled, task: task))
      case .timeMoved(let time):
        events.append(
          RecordedEvent(kind: .timeMoved, hasTime: time != nil, time: time ?? .zero))
      case .taskBecameExternal(let task):
        events.append(RecordedEvent(kind: .wentAway, task: task))
      case .taskReturned(let task):
        events.append(RecordedEvent(kind: .cameBack, task: task))
      }
    }
  }

  /// Asks a task that sleeps for its name, once, where nobody could before.
  private func askForName(_ task: UInt64) {
    guard asked.count < Self.mostNames, asked.insert(task).inserted,
      task == UnownedTask.currentID, let name = UnownedTask.currentName
    else { return }
    setName(of: task, to: name)
  }

  private func setName(of task: UInt64, to name: String) {
    if names.count < Self.mostNames { names[task] = name }
  }

  /// The number of the actor on which the current task runs; 0 for none.
  private func currentActor() -> UInt16 {
    guard let type = CurrentActor.type else { return 0 }
    if let place = actors.firstIndex(where: { $0 == type }) { return UInt16(place + 1) }
    guard actors.count < 255 else { return 0 }
    actors.append(type)
    return UInt16(actors.count)
  }
}
