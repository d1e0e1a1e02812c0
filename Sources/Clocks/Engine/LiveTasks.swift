/// The tasks of a test that are not over, as far as they are known and can be kept: all but those of
/// `async let`, which are a part of their parents.
///
/// A task is taken out when a job of it has ended in which it came to its end. One that ends elsewhere
/// is taken out when somebody asks, or when the table has doubled since.
struct LiveTasks {
  private var tasks = TaskTable<KeptTask>()
  /// How many tasks there may be before those are taken out that are over.
  private var limit = 256

  /// Takes a task that is not over. Amortized O(1).
  ///
  /// - Returns: Tasks that are over, to be let go of without a lock.
  @inline(__always)
  mutating func insert(_ task: TaskHandle) -> [TaskHandle] {
    tasks.set(task.id, to: KeptTask(task: task))
    return tasks.count > limit ? removeEnded() : []
  }

  /// Takes a task out that is over; the caller lets go of it without a lock. O(1).
  @inline(__always)
  mutating func remove(_ id: UInt64) -> TaskHandle? { tasks.remove(id).task }

  /// The tasks, in the order in which they were made; and those that are over, to be let go of without
  /// a lock. O(n log n).
  mutating func all() -> (live: [TaskHandle], over: [TaskHandle]) {
    let over = removeEnded()
    return (tasks.all.compactMap(\.task).sorted { $0.id < $1.id }, over)
  }

  var count: Int { tasks.count }

  @inline(never)
  private mutating func removeEnded() -> [TaskHandle] {
    let over = tasks.all.compactMap(\.task).filter { TaskStatus(of: $0.job).isOver }
    for task in over { tasks.remove(task.id) }
    limit = max(256, tasks.count * 2)
    return over
  }

  private struct KeptTask: TaskTableEntry {
    static var none: Self { Self(task: nil) }
    var task: TaskHandle?
    var isNone: Bool { task == nil }
  }
}
