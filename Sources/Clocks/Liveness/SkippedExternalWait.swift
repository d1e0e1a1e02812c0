/// Notices that time has jumped while a task of a scope waited for external work.
///
/// The scope cannot see such work: it looks idle, and so time jumps. That is known only afterwards, when
/// something outside makes a task ready that has not run since the jump.
struct SkippedExternalWait {
  /// A jump of time during which a task was suspended.
  struct Jump: Sendable, Equatable {
    /// What time it was when the task last ran.
    var start: Duration
    /// Where time last jumped to.
    var end: Duration

    var length: Duration { end - start }
  }

  /// A task for which it is certain.
  struct SkippedTask: Sendable, Equatable {
    var task: UInt64
    var name: String?
    var jump: Jump
  }

  /// The first one.
  private(set) var first: SkippedTask?
  /// What time it was when tasks last ran, each in the slot that is its number modulo their count.
  ///
  /// A task whose slot was taken by another one is not found; that has no other effect.
  private var lastRuns = [LastRun](repeating: LastRun(), count: slots)
  /// What time it was when an actor's drain last ran, whose tasks are not known.
  private var lastDrain: Duration?
  /// Where time last jumped to.
  private var lastJump: Duration?

  private static var slots: Int { 256 }

  /// Notes that a job begins. O(1).
  ///
  /// - Parameter task: The job's task; 0 if the job is an actor's drain.
  @inline(__always)
  mutating func jobBegins(of task: UInt64, at now: Duration) {
    if task == 0 {
      lastDrain = now
    } else {
      lastRuns[Self.slot(of: task)] = LastRun(task: task, time: now)
    }
  }

  @inline(__always)
  mutating func timeJumps(to end: Duration) { lastJump = end }

  /// Notes that something outside the test has made a task ready.
  mutating func arrives(_ task: UInt64, name: @autoclosure () -> String?) {
    guard first == nil, let jump = jump(over: task) else { return }
    first = SkippedTask(task: task, name: name(), jump: jump)
  }

  /// Notes that a task has not waited for external work.
  mutating func forget(_ task: UInt64) {
    let slot = Self.slot(of: task)
    if lastRuns[slot].task == task { lastRuns[slot] = LastRun() }
  }

  /// The jump of time for which a task has certainly been suspended; `nil` if there is none.
  func jump(over task: UInt64) -> Jump? {
    let last = lastRuns[Self.slot(of: task)]
    guard let end = lastJump, last.task == task, last.time < end else { return nil }
    if let lastDrain, lastDrain >= end { return nil }
    return Jump(start: last.time, end: end)
  }

  private static func slot(of task: UInt64) -> Int { Int(truncatingIfNeeded: task) & (slots - 1) }

  private struct LastRun {
    /// 0 for none.
    var task: UInt64 = 0
    var time = Duration.zero
  }
}
