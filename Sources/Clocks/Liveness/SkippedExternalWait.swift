/// Notices that time has jumped while a task of a scope waited for work outside.
///
/// The scope cannot see such work: it looks idle, and so time jumps. It is known only afterwards, when
/// somebody outside makes a task ready that has not run since the jump.
struct SkippedExternalWait {
  /// A jump of time that a task has slept through.
  struct Jump: Sendable, Equatable {
    /// What time it was when the task ran last.
    var start: Duration
    /// Where time has jumped to last.
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
  /// What time it was when a task ran last, at the place that is its number modulo their count. Whoever has
  /// lost its place to another task is not found: that is all.
  private var lastRuns = [LastRun](repeating: LastRun(), count: places)
  /// What time it was when an actor's queue ran last: nobody knows for which tasks it did.
  private var lastQueue: Duration?
  /// Where time has jumped to last.
  private var lastJump: Duration?

  private static var places: Int { 256 }

  /// Notes that a job begins. O(1).
  ///
  /// - Parameter task: Whose it is; 0 if it is that of an actor's queue.
  @inline(__always)
  mutating func jobBegins(of task: UInt64, at now: Duration) {
    if task == 0 {
      lastQueue = now
    } else {
      lastRuns[Self.place(of: task)] = LastRun(task: task, time: now)
    }
  }

  /// Notes that time jumps.
  @inline(__always)
  mutating func timeJumps(to end: Duration) { lastJump = end }

  /// Notes that somebody outside the test has made a task ready.
  mutating func arrives(_ task: UInt64, name: @autoclosure () -> String?) {
    guard first == nil, let jump = jump(over: task) else { return }
    first = SkippedTask(task: task, name: name(), jump: jump)
  }

  /// Notes that a task has waited for nothing outside.
  mutating func forget(_ task: UInt64) {
    let place = Self.place(of: task)
    if lastRuns[place].task == task { lastRuns[place] = LastRun() }
  }

  /// The jump of time for which a task has been suspended, if there is one for certain.
  func jump(over task: UInt64) -> Jump? {
    let last = lastRuns[Self.place(of: task)]
    guard let end = lastJump, last.task == task, last.time < end else { return nil }
    if let lastQueue, lastQueue >= end { return nil }
    return Jump(start: last.time, end: end)
  }

  private static func place(of task: UInt64) -> Int { Int(truncatingIfNeeded: task) & (places - 1) }

  private struct LastRun {
    /// 0 for none.
    var task: UInt64 = 0
    var time = Duration.zero
  }
}
