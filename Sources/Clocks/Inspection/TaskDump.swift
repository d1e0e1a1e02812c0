/// A list of what each task of a test waits for, and where, at one moment.
///
/// A dump holds addresses. Their functions are looked up when the text is requested.
struct TaskDump: Sendable {
  /// A task, with what the scheduler knows about it.
  struct Entry: Sendable {
    var task: TaskSnapshot
    /// The sleep that suspends the task, for example `until 3.0 seconds on TestClock`.
    var sleep: String?
    /// The name of the actor on which the task waits for its turn.
    var actor: String?
    /// The task's name in the explanation of a schedule, if it has one.
    var label: String?
    /// Whether the task requests the dump.
    var asks = false
    /// The call stack of the thread that runs the task, the innermost function first; empty if not known.
    var thread: [UInt] = []
    /// Whether that thread is blocked.
    var isBlocked = false
    /// The addresses of the actors that the task occupies while other tasks wait for their turn there.
    var holds: Set<UInt> = []
  }

  /// Blocks of the test on a dispatch queue: one that has begun, or all of a queue that have not.
  struct Work: Sendable {
    /// The queue or thread of the blocks, for example `the queue "orders"`.
    var place: String
    var hasBegun = false
    var count = 1
    /// The call stack of the block's thread, the innermost function first; empty if not known.
    var thread: [UInt] = []
    /// Whether that thread is blocked.
    var isBlocked = false
  }

  /// The tasks, sorted by their ids.
  let entries: [Entry]
  let missing: [String]
  let images: CodeImages
  /// The dispatched blocks of the test.
  let work: [Work]
  /// For each task's address, the index of the task in `entries`.
  private let places: [UInt: Int]

  init(_ entries: [Entry], missing: [String], images: CodeImages, work: [Work] = []) {
    self.entries = entries.sorted { $0.task.id < $1.task.id }
    self.missing = missing
    self.images = images
    self.work = work
    places = Dictionary(
      zip(self.entries.map(\.task.address), self.entries.indices), uniquingKeysWith: { $1 })
  }

  /// Whether a task is ready, and does not wait for its turn on an actor.
  var hasReadyTask: Bool {
    entries.contains { $0.task.state == .enqueued && $0.actor == nil }
  }

  /// The dump; `nil` if it has nothing but the task that requests it.
  var unlessAlone: TaskDump? { entries.allSatisfy(\.asks) && work.isEmpty ? nil : self }

  func entry(at address: UInt) -> Entry? { places[address].map { entries[$0] } }

  /// The indices of the children of each task; for `nil`, those of the tasks whose parents are not in the dump.
  var tree: [Int?: [Int]] {
    Dictionary(grouping: entries.indices) { index in
      let parent = entries[index].task.parent.flatMap { places[$0] }
      return parent == index ? nil : parent
    }
  }

  /// The circles of tasks in which each waits for the next one. O(tasks + children).
  var circles: [[Entry]] {
    var circles: [[Entry]] = []
    // The tasks that have been visited, and the positions of those on the current path.
    var isDone = [Bool](repeating: false, count: entries.count)
    var positions: [Int: Int] = [:]
    for start in entries.indices where !isDone[start] {
      var way: [(task: Int, next: [Int])] = [(start, awaited(by: start))]
      positions = [start: 0]
      // The list is changed in place: a copy for each child would be quadratic.
      while let task = way.last?.task {
        guard let following = way[way.count - 1].next.popLast() else {
          way.removeLast()
          positions[task] = nil
          isDone[task] = true
          continue
        }
        if let position = positions[following] {
          circles.append(way[position...].map { entries[$0.task] })
        } else if !isDone[following] {
          positions[following] = way.count
          way.append((following, awaited(by: following)))
        }
      }
    }
    return circles
  }

  /// The tasks whose end a task awaits.
  private func awaited(by index: Int) -> [Int] {
    let task = entries[index].task
    switch task.dependency {
    case .task(let other): return places[other].map { [$0] } ?? []
    case .group: return task.children.compactMap { places[$0] }
    case .continuation, .executor, nil: return []
    }
  }

  var functions: Set<UInt> {
    entries.reduce(into: Set(work.flatMap(\.thread))) {
      $0.formUnion($1.task.functions + $1.thread)
    }
  }

  /// Looks up the functions. O(size of the debug information).
  func symbols() -> Symbols { Symbols(of: functions, in: images) }
}
