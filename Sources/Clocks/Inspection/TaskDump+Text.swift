import ClocksDrawing

extension TaskDump: CustomStringConvertible {
  /// The dump as text, with at most forty lines about tasks; only blocks and notes if no task is known.
  var description: String { text(mostLines: 40) }

  /// Returns the dump as text: a heading, a tree of the tasks, blocks and notes.
  ///
  /// If the tree has more than `mostLines` lines, shortens first its call stacks, and then the tree.
  ///
  /// - Parameter symbols: The functions at the addresses; looked up by default.
  func text(mostLines: Int, symbols: Symbols? = nil) -> String {
    let writer = TaskDumpWriter(self, symbols ?? self.symbols())
    guard !entries.isEmpty else {
      return (writer.work + writer.notes).joined(separator: "\n")
    }
    var lines: [String] = []
    for frames in [8, 4, 2, 1] {
      lines = writer.lines(frames: frames)
      if lines.count <= mostLines { break }
    }
    if lines.count > mostLines {
      let rest = lines.count - mostLines
      lines = lines.prefix(mostLines) + ["… and \(rest) more lines"]
    }
    return ([writer.heading] + lines + writer.work + writer.notes).joined(separator: "\n")
  }
}

/// The name of a task in texts, for example `#13 "poller"`.
enum TaskLabel {
  static func of(_ id: UInt64, _ name: String?) -> String {
    // A line break would break the tree of a dump.
    name.map { "#\(id) \"\($0.printable)\"" } ?? "#\(id)"
  }
}

extension String {
  /// The text of a report, followed by a dump.
  func with(_ dump: TaskDump?) -> String {
    let text = dump?.unlessAlone?.description ?? ""
    return text.isEmpty ? self : self + "\n\n" + text
  }
}

/// Writes a dump. Tasks that wait for the same thing in the same place are listed together.
private struct TaskDumpWriter {
  private let dump: TaskDump
  private let symbols: Symbols
  private let children: [Int?: [Int]]
  private let running: [TaskDump.Entry]

  init(_ dump: TaskDump, _ symbols: Symbols) {
    self.dump = dump
    self.symbols = symbols
    children = dump.tree
    running = dump.entries.filter { $0.task.state == .running && !$0.asks }
  }

  var heading: String {
    let count = dump.entries.count
    var text = "Where the test's \(count == 1 ? "task is" : "\(count) tasks are"):"
    for circle in dump.circles.prefix(3) {
      let most = 10
      let more = circle.count > most ? ["… (\(circle.count - most) more)"] : []
      let names = circle.prefix(most).map(Self.name) + more + [Self.name(circle[0])]
      text +=
        circle.count == 1
        ? "\nA circle: \(names[0]) waits for itself."
        : "\nA circle: \(names.joined(separator: " waits for ")). None of them can go on."
    }
    return text
  }

  var notes: [String] {
    var notes: [String] = []
    if !dump.missing.isEmpty {
      notes.append("Not known on this runtime: \(dump.missing.joined(separator: ", ")).")
    }
    let frames = dump.functions.compactMap { symbols.frames[$0] }
    // Only a stack with a frame of the user can be expected to have lines: many frames of libraries have none.
    if frames.contains(where: { $0.function?.isOfUser != false }),
      frames.allSatisfy({ $0.line == nil })
    {
      notes.append(
        symbols.lacksTool
          ? "No lines: \(Symbolizer.reason)."
          : "No lines: the build has no debug information.")
    }
    return notes
  }

  /// The lines of blocks on dispatch queues.
  var work: [String] {
    let most = 10
    let lines = dump.work.prefix(most).flatMap { work in
      let state =
        switch (work.hasBegun, work.count) {
        case (true, _):
          work.isBlocked ? "runs a block, which blocks its thread" : "runs a block"
        case (false, 1): "has 1 block that has not begun"
        case (false, let count): "has \(count) blocks that have not begun"
        }
      return ["- \(work.place) \(state)"]
        + work.thread.compactMap(line).prefix(4).map { "    " + $0 }
    }
    let more = dump.work.count - most
    return more > 0 ? lines + ["… and \(more) more on queues"] : lines
  }

  /// The parts that tasks must have in common to be listed together.
  private struct Likeness: Hashable {
    var state: String
    var functions: [UInt]
    var children: [Likeness]
  }

  /// How many levels of child tasks are listed and compared.
  ///
  /// A recursion may start any number of levels, and each one takes a part of this thread's stack.
  private static let mostLevels = 40

  private func likeness(_ index: Int, depth: Int) -> Likeness {
    let entry = dump.entries[index]
    let children = depth < Self.mostLevels ? children[index] ?? [] : []
    return Likeness(
      state: state(entry, isOneOfMany: true), functions: entry.task.functions + entry.thread,
      children: children.map { likeness($0, depth: depth + 1) })
  }

  func lines(below parent: Int? = nil, depth: Int = 0, frames: Int) -> [String] {
    guard let children = children[parent] else { return [] }
    guard depth < Self.mostLevels else { return ["… and child tasks below"] }
    let groups = Dictionary(grouping: children) { likeness($0, depth: depth) }.values
    return groups.sorted { $0[0] < $1[0] }
      .flatMap { group(of: $0, depth: depth, frames: frames) }
  }

  /// The lines of tasks that are alike. Of the children, only those of the first task are listed.
  private func group(of indices: [Int], depth: Int, frames: Int) -> [String] {
    let first = dump.entries[indices[0]]
    let indent = String(repeating: "  ", count: depth)
    let kind = depth > 0 ? "child " : ""
    var line = "\(indent)- \(kind)\(Self.name(first)) \(state(first))"
    if indices.count > 1 {
      let names = indices.prefix(4).map { Self.shortName(dump.entries[$0]) }
      let more = indices.count > 4 ? ", …" : ""
      line =
        "\(indent)- \(indices.count) \(kind)tasks (\(names.joined(separator: ", "))\(more)), each "
        + state(first, isOneOfMany: true) + sleeps(indices)
    }
    return [line] + stack(first, most: frames).map { indent + "    " + $0 }
      + lines(below: indices[0], depth: depth + 1, frames: frames)
  }

  /// Describes the first of several tasks' sleeps, and says whether other sleeps differ from it.
  private func sleeps(_ indices: [Int]) -> String {
    guard let first = dump.entries[indices[0]].sleep else { return "" }
    return indices.allSatisfy { dump.entries[$0].sleep == first }
      ? " \(first)" : " \(first), or until another instant"
  }

  private static func name(_ entry: TaskDump.Entry) -> String {
    entry.label ?? "task " + shortName(entry)
  }

  private static func shortName(_ entry: TaskDump.Entry) -> String {
    let task = entry.task
    if let label = entry.label {
      return label.hasPrefix("task ") ? String(label.dropFirst(5)) : label
    }
    return task.id == 0 ? "of an actor's queue" : TaskLabel.of(task.id, task.name)
  }

  /// Describes what a task does or waits for.
  ///
  /// - Parameter isOneOfMany: Whether the text also stands for other tasks, so that it must hold for all of them.
  private func state(_ entry: TaskDump.Entry, isOneOfMany: Bool = false) -> String {
    let task = entry.task
    if let sleep = entry.sleep { return isOneOfMany ? "sleeps" : "sleeps \(sleep)" }
    switch (task.state, task.dependency) {
    case (.running, _):
      if entry.asks { return "runs, and requests this dump" }
      return entry.isBlocked ? "blocks its thread" : "runs"
    case (.over, _): return "is over"
    case (.suspended, .task(let address)):
      let other = dump.entry(at: address).map { Self.name($0) } ?? "a task that is not known"
      return "awaits the value of \(other)"
    case (.suspended, .group): return "awaits its child tasks"
    case (.suspended, .continuation) where call(task) == "Task.yield()":
      return "has yielded, and is ready to run"
    case (.suspended, .continuation):
      return "awaits a continuation" + (call(task).map { ", in \($0)" } ?? "")
    case (.enqueued, _):
      guard let actor = entry.actor else { return "is ready to run" }
      if case .executor(let identity) = task.dependency,
        let holder = running.first(where: { $0.holds.contains(identity) })
      {
        return "waits for its turn on \(actor), which \(Self.name(holder)) holds"
      }
      let holders = running.filter { $0.task.id != task.id }.map { Self.name($0) }
      return "waits for its turn on \(actor)"
        + (holders.isEmpty
          ? ""
          : ", while \(holders.joined(separator: " and ")) \(holders.count == 1 ? "runs" : "run")")
    default: return "is suspended"
    }
  }

  /// The library function that the user's innermost function called; `nil` if there is none.
  private func call(_ task: TaskSnapshot) -> String? {
    let functions = task.functions.map { symbols.frames[$0]?.function }
    let own = functions.firstIndex { $0?.isOfUser == true }
    let called = functions[..<(own ?? 0)].last { $0.map { !$0.isThunk && !$0.isClosure } ?? false }
    // The state of the task already says that it awaits a continuation.
    guard let text = called??.shortText, !text.contains("Continuation(") else { return nil }
    return text
  }

  /// The user's functions, the innermost first.
  private func stack(_ entry: TaskDump.Entry, most: Int) -> [String] {
    let lines = (entry.thread + entry.task.functions).compactMap(line)
    if lines.count > most { return lines.prefix(most) + ["… and \(lines.count - most) more"] }
    return lines + (entry.task.isCut ? ["… and more"] : [])
  }

  private func line(_ address: UInt) -> String? {
    guard let frame = symbols.frames[address] else { return nil }
    guard let function = frame.function else {
      // A shared library without names of functions is not part of the user's code.
      return frame.image.contains(".so") ? nil : "a function without a name in \(frame.image)"
    }
    guard function.isOfUser else { return nil }
    return function.text + (frame.line.map { " at \($0.file):\($0.line)" } ?? "")
  }
}

extension FunctionName {
  /// The text without the labels of parameters that callers omit.
  fileprivate var shortText: String {
    var text = text
    for labels in ["fileID:filePath:line:column:", "isolation:function:", "isolation:"] {
      if text.hasSuffix(labels + ")") { text = String(text.dropLast(labels.count + 1)) + ")" }
    }
    return text
  }
}
