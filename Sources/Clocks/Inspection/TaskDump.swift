/// What each task of a test waits for, and where, as one moment had it.
///
/// Made with addresses only; what they mean is looked up when the text is asked for.
struct TaskDump: Sendable {
  /// A task, with what only we know of it.
  struct Entry: Sendable {
    var task: TaskSnapshot
    /// What it sleeps for, if it does: `until 3.0 seconds on TestClock`.
    var sleep: String?
    /// The name of the actor whose turn it waits for.
    var actor: String?
    /// Whether it is the task that asks.
    var asks = false
    /// Where the thread is that runs it, the innermost function first, if that is known.
    var thread: [UInt] = []
    /// The actors on which it runs while others wait for their turn there, by their addresses.
    var holds: Set<UInt> = []
  }

  /// The tasks, those that are no child of another one here in the order of their numbers.
  let entries: [Entry]
  /// What cannot be read in this process.
  let missing: [String]
  let images: CodeImages
  /// The places in `entries`, by the addresses of the tasks.
  private let places: [UInt: Int]

  init(_ entries: [Entry], missing: [String], images: CodeImages) {
    self.entries = entries.sorted { $0.task.id < $1.task.id }
    self.missing = missing
    self.images = images
    places = Dictionary(
      zip(self.entries.map(\.task.address), self.entries.indices), uniquingKeysWith: { $1 })
  }

  /// `nil` if nobody is in it but the task that asks.
  var unlessAlone: TaskDump? { entries.allSatisfy(\.asks) ? nil : self }

  func entry(at address: UInt) -> Entry? { places[address].map { entries[$0] } }

  /// The tasks that are nobody's child here, and the children of each.
  var tree: (roots: [Int], children: [Int: [Int]]) {
    var roots: [Int] = []
    var children: [Int: [Int]] = [:]
    for (index, entry) in entries.enumerated() {
      if let parent = entry.task.parent.flatMap({ places[$0] }), parent != index {
        children[parent, default: []].append(index)
      } else {
        roots.append(index)
      }
    }
    return (roots, children)
  }

  /// The tasks that wait for each other in a circle: each for the next one, and the last for the first.
  /// O(tasks + children).
  var circles: [[Entry]] {
    var circles: [[Entry]] = []
    // Whether a task has been gone through, and where it stands on the way that is being gone.
    var isDone = [Bool](repeating: false, count: entries.count)
    var positions: [Int: Int] = [:]
    for start in entries.indices where !isDone[start] {
      var way: [(task: Int, next: [Int])] = [(start, awaited(by: start))]
      positions = [start: 0]
      while let (task, next) = way.last {
        guard let following = next.last else {
          way.removeLast()
          positions[task] = nil
          isDone[task] = true
          continue
        }
        way[way.count - 1].next.removeLast()
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

  /// The tasks for whose end a task waits.
  private func awaited(by index: Int) -> [Int] {
    let task = entries[index].task
    switch task.dependency {
    case .task(let other): return places[other].map { [$0] } ?? []
    case .group: return task.children.compactMap { places[$0] }
    case .continuation, .executor, nil: return []
    }
  }

  /// The functions that are in it.
  var functions: Set<UInt> {
    entries.reduce(into: []) { $0.formUnion($1.task.functions + $1.thread) }
  }

  /// What they mean. O(size of what the files say about them).
  func symbols() -> Symbols { Symbols(of: functions, in: images) }
}
