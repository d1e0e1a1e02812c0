import ClocksDrawing
import ClocksSupport
import Synchronization

/// Records what happens in a test.
///
/// An event costs a lock, a comparison and 40 bytes; names and drawings are made when they are requested.
/// Memory is bounded: the earliest events are dropped. A scheduler holds its lock while it calls `record` and `see`.
final class Recorder: Sendable {
  /// The number of events that are kept by default: some 40 MB.
  static let standardLimit = 1_000_000
  private static let mostNames = 100_000

  /// Guards the properties below. Rank `leaf`; taken under the scheduler's lock.
  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var events: EventStore
  nonisolated(unsafe) private var context: RecordingContext
  /// The tasks whose names were looked up.
  nonisolated(unsafe) private var lookedUp: Set<UInt64> = []
  nonisolated(unsafe) private var nextMark: UInt64 = 1
  /// The actors that were seen. An actor's number is its index plus 1.
  nonisolated(unsafe) private var actors: [AnyObject.Type] = [
    MainActor.self
  ]
  /// Receives the recording at the end; `nil` after that.
  nonisolated(unsafe) private var delivery: (@Sendable (RecordedTimeline) -> Void)?
  let title: String
  private let lines: Int

  init(
    _ title: String = "", limit: Int = standardLimit, lines: Int = 40,
    startingAt start: Duration = .zero, delivery: (@Sendable (RecordedTimeline) -> Void)? = nil
  ) {
    self.title = title
    self.lines = lines
    self.delivery = delivery
    events = EventStore(limit: limit)
    context = RecordingContext(start: start)
  }

  // A `deinit` cannot deliver: the thread that frees a recorder may hold a scheduler's lock.

  /// Passes the recording to its receiver, once.
  func deliver() { takeDelivery()?(timeline) }

  func drop() { _ = takeDelivery() }

  /// Returns the delivery, which the caller releases without the lock: it may own objects of the user.
  private func takeDelivery() -> (@Sendable (RecordedTimeline) -> Void)? {
    lock.withLock { delivery.take() }
  }

  /// The timeline of what was recorded so far. O(tasks with a name).
  var timeline: RecordedTimeline {
    lock.withLock {
      var context = context
      context.actors = actors.map { "\($0)" }
      return RecordedTimeline(title: title, events: events, context)
    }
  }

  /// Notes that the current task runs the test itself.
  func beginTest() {
    guard let task = UnownedTask.currentID else { return }
    lock.withLock { context.root = task }
  }

  func mark(_ text: String) {
    let task = UnownedTask.currentID ?? 0
    lock.withLock {
      events.append(RecordedEvent(.mark, actor: currentActor(), task: task, other: nextMark))
      context.marks[nextMark] = text
      if context.marks.count > Self.mostNames {
        context.marks[nextMark - UInt64(Self.mostNames)] = nil
      }
      nextMark += 1
    }
  }

  /// The text that is added to a failure of the test, if any.
  var explanation: String? { timeline.explanation(lines: lines) }

  /// Notes the name of a task that does not run yet, where it can be read.
  func see(_ task: UnownedJob, _ id: UInt64, readsNames: Bool = StatusProbe.here.readsNames) {
    guard readsNames else { return }
    let name = UnownedTask(job: task).name
    lock.withLock {
      if lookedUp.count < Self.mostNames { lookedUp.insert(id) }
      if let name { setName(of: id, to: name) }
    }
  }

  /// Adds an event, and the actor on which the current task makes it.
  func record(_ event: RecordedEvent) {
    lock.withLock {
      var event = event
      switch event.kind {
      case .created: event.actor = currentActor()
      case .enqueued where event.other != 0: event.actor = currentActor()
      case .slept:
        lookUpName(of: event.task)
        event.actor = currentActor()
      default: break
      }
      events.append(event)
    }
  }

  /// Looks up the name of a task that sleeps, once. Where `see` cannot read names, they come only from here.
  private func lookUpName(of task: UInt64) {
    guard lookedUp.count < Self.mostNames, lookedUp.insert(task).inserted,
      task == UnownedTask.currentID, let name = UnownedTask.currentName
    else { return }
    setName(of: task, to: name)
  }

  private func setName(of task: UInt64, to name: String) {
    if context.names.count < Self.mostNames { context.names[task] = name }
  }

  /// Returns the number of the actor on which the current task runs; 0 if there is none.
  private func currentActor() -> UInt16 {
    guard let type = CurrentActor.type else { return 0 }
    if let place = actors.firstIndex(where: { $0 == type }) { return UInt16(place + 1) }
    guard actors.count < 255 else { return 0 }
    actors.append(type)
    return UInt16(actors.count)
  }
}

/// Whether a recording was requested in runs that were too many to be recorded.
final class RefusedRecording: Sendable {
  private let wasAskedFor = Atomic(false)

  var isKnown: Bool { wasAskedFor.load(ordering: .relaxed) }

  func note() { wasAskedFor.store(true, ordering: .relaxed) }
}
