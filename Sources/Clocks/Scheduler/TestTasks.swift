import ClocksSupport

/// The tasks of a test that are not over, except those of `async let`, which are a part of their parents.
///
/// A task is removed after the job in which it ended. A task that ends elsewhere is removed when the scheduler
/// notices its return, when it is checked, when the tasks are listed, or when the table has doubled. An entry takes 8
/// bytes.
struct LiveTasks: ~Copyable {
  private var tasks = TaskTable<Entry>()
  /// If there are more tasks than this, those that are over are removed.
  private var limit = 256

  deinit { tasks.visitAll { _ = $0.takenOver } }

  @_transparent
  mutating func insert(_ task: RetainedTask) { insert(task.id, takingOver: task.asWord) }

  /// Inserts a task, which is retained as a word.
  @_transparent
  mutating func insert(_ id: UInt64, takingOver word: UInt) {
    if !tasks.add(id, Entry(word: word)) { _ = RetainedTask(takingOver: word) }
  }

  /// Removes a task that is over. The caller releases it without a lock. Expected O(1).
  @_transparent
  mutating func remove(_ task: UInt64) -> RetainedTask? { tasks.remove(task).takenOver }

  /// Does what `remove` does, and returns the reference as a word; 0 if there is none.
  @_transparent
  mutating func removeReference(_ task: UInt64) -> UInt { tasks.remove(task).word }

  /// Removes a task if it is over. The caller releases it without a lock. Expected O(1).
  mutating func removeIfOver(_ id: UInt64) -> RetainedTask? {
    guard let task = tasks[id].task, TaskStatus(of: task.job).isOver else { return nil }
    return remove(id)
  }

  /// Inserts a task. If the table has doubled, removes the tasks that are over, which the caller releases without
  /// a lock. Amortized O(1).
  mutating func insert(pruning task: RetainedTask) -> [RetainedTask] {
    insert(task)
    return tasks.count > limit ? removeEnded() : []
  }

  /// Removes the tasks that are over, which the caller releases without a lock. O(n).
  mutating func removeEnded() -> [RetainedTask] {
    let over = tasks.all.compactMap(\.task).filter { TaskStatus(of: $0.job).isOver }
    let removed = over.compactMap { remove($0.id) }
    limit = max(256, tasks.count * 2)
    return removed
  }

  /// The tasks, in the order in which they were created. O(n log n).
  var all: [RetainedTask] { tasks.all.compactMap(\.task?.handle).sorted { $0.id < $1.id } }

  /// The tasks that are not over, and `running`. O(n).
  func unfinished(or running: UInt64) -> [UnownedTask] {
    var unfinished: [UnownedTask] = []
    tasks.visitAll {
      if let task = $0.task, task.id == running || !TaskStatus(of: task.job).isOver {
        unfinished.append(task)
      }
    }
    return unfinished
  }

  /// A retained task as a word, so that tables of many tasks cost little to create, grow and free.
  private struct Entry: TaskTableEntry {
    static var none: Self { Self(word: 0) }
    var word: UInt

    @_transparent
    var isNone: Bool { word == 0 }

    var task: UnownedTask? {
      isNone ? nil : UnownedTask(job: unsafeBitCast(word, to: UnownedJob.self))
    }

    @_transparent
    var takenOver: RetainedTask? { isNone ? nil : RetainedTask(takingOver: word) }
  }
}

/// The tasks with which a test ends: those that made its clocks, or if none is known, tasks that use them.
struct TestLifetime {
  private(set) var tasks: [RetainedTask] = []

  var isKnown: Bool { !tasks.isEmpty }

  /// Whether at least one task is known, and all of them are over.
  var areOver: Bool { isKnown && tasks.allSatisfy(\.isOver) }

  var unfinished: [UInt64] { tasks.filter { !$0.isOver }.map(\.id) }

  /// Adds the task that makes a clock. Returns tasks to release without a lock.
  mutating func add(maker task: RetainedTask?) -> [RetainedTask] {
    task.map { tasks.add($0) } ?? []
  }

  /// Adds a child task that uses a clock, if the tasks that made the clocks are over or unknown.
  ///
  /// Then the test continues in the child. Returns tasks to release without a lock.
  mutating func add(user task: RetainedTask?) -> [RetainedTask] {
    isKnown && !areOver ? [] : add(maker: task)
  }
}

/// The test cases that use a clock. Used within `Scheduler.change` only.
final class ClockUsers: Sendable {
  nonisolated(unsafe) private var tasks: [RetainedTask] = []
  nonisolated(unsafe) private var isReported = false

  func add(_ task: RetainedTask) -> (shared: Int?, over: [RetainedTask]) {
    let over = tasks.add(task)
    guard tasks.count > 1, !isReported else { return (nil, over) }
    isReported = true
    return (tasks.count, over)
  }
}

extension [RetainedTask] {
  /// Adds a task. Removes the tasks that are over, and returns them.
  fileprivate mutating func add(_ task: RetainedTask) -> [RetainedTask] {
    // The usual cases.
    if count == 0 || count == 1 && self[0] == task {
      self = [task]
      return []
    }
    let over = filter(\.isOver)
    removeAll { $0.isOver || $0 == task }
    append(task)
    return over
  }
}
