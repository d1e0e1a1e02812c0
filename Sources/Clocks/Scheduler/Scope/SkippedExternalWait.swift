/// Notices that time jumped while a task of a scope waited for work outside the scope.
///
/// The scheduler cannot see such work, so the scope counts as idle and time jumps. The jump is noticed when something
/// outside the test makes a task ready, and this task has not run since the jump. If the task was cancelled meanwhile,
/// the cancellation is noted as a possible cause.
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
  /// The first tasks that were cancelled while they waited for a continuation, and had waited since before a jump.
  /// Perhaps they waited for external work.
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
  /// The number of slots in which a task may be found.
  private static var slotsOfTask: UInt64 { 4 }

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

  /// Notes a run of a task in `lastRuns`, if another task uses the first of its slots.
  @inline(never)
  private mutating func noteRun(of task: UInt64, at now: Duration) {
    var chosen = Self.slot(of: task)
    var oldest = lastRuns[chosen].time.attoseconds
    // A debug build would look up the types of a `for` loop each time.
    var number: UInt64 = 1
    while number < Self.slotsOfTask {
      let slot = Self.slot(of: task &+ number)
      let user = lastRuns[slot].task
      if user == task || user == 0 {
        chosen = slot
        break
      }
      let time = lastRuns[slot].time.attoseconds
      if time < oldest { (chosen, oldest) = (slot, time) }
      number += 1
    }
    lastRuns[chosen] = LastRun(task: task, time: now)
  }

  @_transparent
  mutating func timeJumps(to end: Duration) { lastJump = end }

  /// Notes that something outside the test made a task ready.
  mutating func arrives(_ task: UInt64, name: @autoclosure () -> String?) {
    guard first == nil, let jump = jump(over: task) else { return }
    first = SkippedTask(task: task, name: name(), jump: jump)
  }

  /// Notes that a task of the test became ready because it was cancelled, and not in a sleep.
  mutating func wasCancelled(_ task: UInt64, name: @autoclosure () -> String?) {
    guard cancelled.count < 8, let jump = jump(over: task) else { return }
    cancelled.append(SkippedTask(task: task, name: name(), jump: jump))
  }

  /// Notes that a task did not wait for work outside the scope.
  mutating func forget(_ task: UInt64) {
    // The slot stays in use: if it were empty, a task found in a later slot would get this one, too.
    if let slot = usedSlot(of: task) { lastRuns[slot] = LastRun(task: .max) }
  }

  /// Returns the jump since a task last ran; `nil` if there is none, or if the task may have run after it.
  ///
  /// Also `nil` for 0, an actor drain: the slots that no task uses have this number.
  func jump(over task: UInt64) -> Jump? {
    guard task != 0, let end = lastJump, let slot = usedSlot(of: task) else { return nil }
    let start = lastRuns[slot].time
    guard start < end else { return nil }
    if let lastDrain, lastDrain >= end { return nil }
    return Jump(start: start, end: end)
  }

  private func usedSlot(of task: UInt64) -> Int? {
    (0..<Self.slotsOfTask).lazy.map { Self.slot(of: task &+ $0) }
      .first { lastRuns[$0].task == task }
  }

  private static func slot(of task: UInt64) -> Int { Int(truncatingIfNeeded: task) & (slots - 1) }

  private struct LastRun {
    var task: UInt64 = 0
    var time = Duration.zero
  }
}
