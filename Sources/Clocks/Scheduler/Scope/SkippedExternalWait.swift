/// Notices that time has jumped while a task of a scope waited for work outside the scope.
///
/// The scheduler cannot see such work, so the scope counts as idle and time jumps. The jump is noticed when something
/// outside the test makes a task ready, and this task has not run since the jump.
struct SkippedExternalWait {
  struct Jump: Sendable, Equatable {
    var start: Duration
    /// The instant to which time last jumped.
    var end: Duration

    var length: Duration { end - start }
  }

  struct SkippedTask: Sendable, Equatable {
    var task: UInt64
    var name: String?
    var jump: Jump

    var label: String { "task " + TaskLabel.of(task, name) }
  }

  /// The first skipped external wait, if there was one.
  private(set) var first: SkippedTask?
  /// The first tasks that were cancelled when they had waited for a continuation since before a jump. Perhaps they
  /// waited for external work.
  private(set) var cancelled: [SkippedTask] = []
  /// The last run of each task, in slot `task % slots` or one of the three after it. A task has at most one slot.
  ///
  /// If all four slots are used by other tasks, the one whose last run is the oldest loses its slot.
  private var lastRuns = [LastRun](repeating: LastRun(), count: slots)
  /// The time when an actor drain, whose tasks are not known, last ran.
  private var lastDrain: Duration?
  /// The instant to which time last jumped.
  private var lastJump: Duration?

  private static var slots: Int { 256 }

  /// Notes that a job begins. `task` is 0 if the job is an actor drain. O(1).
  @_transparent
  mutating func jobBegins(of task: UInt64, at now: Duration) {
    if task == 0 {
      lastDrain = now
    } else {
      let slot = Self.slot(of: task)
      let user = lastRuns[slot].task
      if user == task || user == 0 {
        lastRuns[slot] = LastRun(task: task, time: now)
      } else {
        noteRun(of: task, at: now)
      }
    }
  }

  /// Notes a run of a task whose first slot is that of another task.
  @inline(never)
  private mutating func noteRun(of task: UInt64, at now: Duration) {
    let slots = Self.slots(of: task)
    let slot =
      slots.first { lastRuns[$0].task == task || lastRuns[$0].task == 0 }
      ?? slots.min { lastRuns[$0].time < lastRuns[$1].time }!
    lastRuns[slot] = LastRun(task: task, time: now)
  }

  @_transparent
  mutating func timeJumps(to end: Duration) { lastJump = end }

  /// Notes that something outside the test has made a task ready.
  mutating func arrives(_ task: UInt64, name: @autoclosure () -> String?) {
    guard first == nil, let jump = jump(over: task) else { return }
    first = SkippedTask(task: task, name: name(), jump: jump)
  }

  /// Notes that a task of the test has become ready because it was cancelled, and not in a sleep.
  mutating func wasCancelled(_ task: UInt64, name: @autoclosure () -> String?) {
    guard cancelled.count < 8, let jump = jump(over: task) else { return }
    cancelled.append(SkippedTask(task: task, name: name(), jump: jump))
  }

  /// Notes that a task has not waited for work outside the scope.
  mutating func forget(_ task: UInt64) {
    // The slot does not count as empty: a task in a later slot would get a second one.
    if let slot = usedSlot(of: task) { lastRuns[slot] = LastRun(task: .max) }
  }

  /// Returns the jump since a task last ran; `nil` if there is none, or if the task may have run after it.
  func jump(over task: UInt64) -> Jump? {
    guard let end = lastJump, let slot = usedSlot(of: task) else { return nil }
    let start = lastRuns[slot].time
    guard start < end else { return nil }
    if let lastDrain, lastDrain >= end { return nil }
    return Jump(start: start, end: end)
  }

  private func usedSlot(of task: UInt64) -> Int? {
    Self.slots(of: task).first { lastRuns[$0].task == task }
  }

  private static func slots(of task: UInt64) -> some Collection<Int> {
    (0..<4).lazy.map { (slot(of: task) + $0) & (slots - 1) }
  }

  private static func slot(of task: UInt64) -> Int { Int(truncatingIfNeeded: task) & (slots - 1) }

  private struct LastRun {
    var task: UInt64 = 0
    var time = Duration.zero
  }
}

extension Scheduler {
  /// Returns a note for a failure of the test if time may have jumped during external work; else `nil`.
  ///
  /// - Parameter isTimeout: Whether the failure is a timeout. If so, it suffices that a task waits for a continuation
  ///   since before the jump, or has done so until it was cancelled. Otherwise the skipped external wait must be
  ///   certain.
  func noteOnSkippedWait(afterTimeout isTimeout: Bool) -> String? {
    if let found = change({ $0.scope?.skippedWait?.first }) {
      return ScopeNote.skippedWait(found.label, slept: found.jump.length, to: found.jump.end)
    }
    return isTimeout ? noteOnPossiblySkippedWait : nil
  }

  /// A note for a timeout of the test if time may have jumped during external work; `nil` if it has not, or if that is
  /// certain.
  var noteOnPossiblySkippedWait: String? {
    guard change({ $0.scope?.skippedWait?.first }) == nil else { return nil }
    let waiting = dumpTasks().entries.filter {
      $0.sleep == nil && $0.task.state == .suspended && $0.task.dependency == .continuation
    }.map(\.task)
    let skipped = change { state -> [SkippedExternalWait.SkippedTask] in
      guard let work = state.scope?.skippedWait else { return [] }
      return work.cancelled
        + waiting.compactMap { task in
          work.jump(over: task.id).map { .init(task: task.id, name: task.name, jump: $0) }
        }
    }
    guard let longest = skipped.map(\.jump).max(by: { $0.length < $1.length }) else { return nil }
    return ScopeNote.possiblySkippedWait(
      skipped.map(\.label), slept: longest.length, to: longest.end)
  }
}
