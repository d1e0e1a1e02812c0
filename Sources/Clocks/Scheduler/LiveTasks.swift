/// The tasks of a test that are not over, as far as they are known and can be kept: all but those of
/// `async let`, which are a part of their parents.
///
/// A task is taken out when a job of it has ended in which it came to its end. One that ends elsewhere
/// is taken out when it is known to be back, when somebody asks, or when the table has doubled since.
struct LiveTasks: ~Copyable {
  private var tasks = TaskTable<KeptTask>()
  /// The number of tasks from which on those are looked for that are over.
  private var limit = 256

  var count: Int { tasks.count }

  /// Takes a task that is not over. Expected O(1), amortized.
  @inline(__always)
  mutating func insert(_ task: RetainedTask) {
    let word = task.asWord
    if !tasks.add(task.id, KeptTask(word: word)) { _ = RetainedTask(takingOver: word) }
  }

  /// Takes out a task that is over, to be let go of without a lock. Expected O(1).
  @inline(__always)
  mutating func remove(_ task: UInt64) -> RetainedTask? { tasks.remove(task).takenOver }

  /// The same, if it is over.
  mutating func removeIfOver(_ id: UInt64) -> RetainedTask? {
    guard let task = tasks[id].task, TaskStatus(of: task.job).isOver else { return nil }
    return remove(id)
  }

  /// Whether there are so many tasks that those are to be taken out that are over.
  var isCrowded: Bool { tasks.count > limit }

  /// Takes out those that are over, to be let go of without a lock. O(n).
  mutating func removeEnded() -> [RetainedTask] {
    let over = tasks.all.compactMap(\.task).filter { TaskStatus(of: $0.job).isOver }
    let removed = over.compactMap { remove($0.id) }
    limit = max(256, tasks.count * 2)
    return removed
  }

  /// Takes out all; to be called at the end, for nothing is let go of by itself. O(n).
  mutating func removeAll() -> [RetainedTask] {
    defer { tasks.removeAll() }
    let kept = tasks.all
    var released: [RetainedTask] = []
    for index in 0..<kept.count {
      if let task = kept[index].takenOver { released.append(task) }
    }
    return released
  }

  /// The tasks, in the order in which they were made. O(n log n).
  var all: [RetainedTask] { tasks.all.compactMap(\.task?.handle).sorted { $0.id < $1.id } }

  /// A task as a word, so that tables of many cost little to make, to let grow and to let go of.
  private struct KeptTask: TaskTableEntry {
    static var none: Self { Self(word: 0) }
    var word: UInt

    @inline(__always)
    var isNone: Bool { word == 0 }

    var task: UnownedTask? {
      isNone ? nil : UnownedTask(job: unsafeBitCast(word, to: UnownedJob.self))
    }

    @inline(__always)
    var takenOver: RetainedTask? { isNone ? nil : RetainedTask(takingOver: word) }
  }
}
