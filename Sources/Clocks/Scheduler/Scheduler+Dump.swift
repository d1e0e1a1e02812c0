extension Scheduler {
  /// Returns the task dumps of tests, each with the place of the test; an empty text for no tests.
  static func dumpText(of schedulers: [Scheduler]) -> String {
    schedulers.map { ($0, $0.place) }.sorted { "\($0.1)" < "\($1.1)" }.map { scheduler, place in
      let kind = scheduler.scope == nil ? "The test with the clock" : "The scope of virtual time"
      let origin =
        scheduler.scope?.options.testName.map { "of \($0)" }
        ?? "made at \(place.fileID):\(place.line)"
      return "\(kind) \(origin)\n\(scheduler.dumpText)"
    }.joined(separator: "\n\n")
  }

  /// A task dump as text, for a person who asked for it.
  var dumpText: String {
    let text = dumpTasks().description
    return text.isEmpty ? "No task of the test is known." : text
  }

  /// The task dump in a failure; `nil` in one run of many, because such a failure is repeated in a single run.
  var dumpUnlessOneOfMany: TaskDump? {
    scope?.options.isOneOfMany == true ? nil : dumpTasks()
  }

  /// The task dump in a debug description; `nil` if a task outside the test asks for it. For example, a test library
  /// prints the arguments of a test case.
  var dumpInDescription: TaskDump? {
    UnownedTask.current != nil && isCallerOfOtherTest ? nil : dumpTasks().unlessAlone
  }

  /// If something went wrong, inspects the scope's tasks, unless that was done. Called before they are cancelled.
  func noteProblem() {
    let isNeeded = change { state in
      state.scope.map { $0.body.beginDump(at: $0.virtualClock.now) } ?? false
    }
    if isNeeded { inspectAtProblem() }
  }

  /// Inspects the scope's tasks after `ScopeBody.beginDump`.
  func inspectAtProblem() {
    let dump = dumpUnlessOneOfMany
    let text = (isAnyAsleepOutside ? "\n" + ScopeProblem.sleepsOutside : "").with(dump)
    change { $0.scope?.noteProblem(dump, text) }?.resume()
  }

  /// Whether a task sleeps on the clock of the scope around this one.
  private var isAnyAsleepOutside: Bool {
    parent?.change { state in
      state.scope?.virtualClock.sleeps.pending.contains {
        TaskOwnership.shared.owner(of: $0.details.taskID) === self
      }
    } == true
  }

  /// Inspects the test's tasks as they are at this moment, on any thread.
  ///
  /// A thread that runs one of the tasks meanwhile is interrupted for a moment, to read its call stack. O(tasks and the
  /// depth of their call stacks), a microsecond for each word that is read. The scheduler's lock is held throughout.
  func dumpTasks() -> TaskDump {
    // Read without the lock, because the first use of the probe creates tasks.
    let reader = TaskReader(CodeImages())
    let asking = UnownedTask.currentID
    // The tasks are retained until they were read.
    let kept = tasks
    var (entries, running, sleeps, blocks) = change { state in
      var entries = reader.entries(from: state.knownTasks + kept.map(\.job))
      if let chooser = state.order.chooser {
        for index in entries.indices {
          let task = entries[index].task
          entries[index].label = chooser.label(of: task.id, name: task.name)
        }
      }
      return (
        entries, state.taskOfMarkedThread, state.virtualClocks.map(\.sleepTexts),
        state.idleness.dispatchedBlocks.all
      )
    }
    withExtendedLifetime(kept) {}
    // The user's code describes instants, so it is called without the lock.
    let texts = sleeps.flatMap { $0() }
    if reader.layout.metadata == nil {
      // The tasks cannot be read from memory, but their sleeps are known.
      entries = texts.map { id, name, _ in
        TaskDump.Entry(task: TaskSnapshot(address: 0, id: id, name: name, state: .suspended))
      }
    }
    let sleepOfTask = Dictionary(texts.map { ($0.task, $0.text) }, uniquingKeysWith: { $1 })
    for index in entries.indices {
      let id = entries[index].task.id
      entries[index].asks = id == asking
      if entries[index].task.state == .suspended { entries[index].sleep = sleepOfTask[id] }
    }
    if let running, running != asking { addThread(ofTask: running, to: &entries, reader) }
    return TaskDump(
      entries, missing: reader.layout.missing, images: reader.images,
      work: Self.work(blocks, reader.images))
  }

  /// The largest number of threads of blocks whose call stacks are read.
  private static let mostThreads = 8

  /// Returns the blocks that have begun, with the call stacks of their threads; and for each queue, how many have not.
  private static func work(
    _ blocks: [(queue: BlockQueue, mark: UInt?)], _ images: CodeImages
  ) -> [TaskDump.Work] {
    var work: [TaskDump.Work] = []
    var places: [BlockQueue: Int] = [:]
    var threads = 0
    for (queue, mark) in blocks {
      if let mark {
        threads += 1
        let stack = threads > mostThreads ? nil : ThreadStack(ofThreadAt: mark, in: images)
        let functions = stack?.functions ?? []
        work.append(
          TaskDump.Work(
            place: queue.description, hasBegun: true, thread: functions,
            isBlocked: stack?.isRunning == false && !functions.isEmpty))
      } else if let place = places[queue] {
        work[place].count += 1
      } else {
        places[queue] = work.count
        work.append(TaskDump.Work(place: queue.description))
      }
    }
    return work
  }

  /// Adds the call stack of the thread that runs a task's job.
  ///
  /// - Parameter id: The task; 0 if the thread runs an actor drain.
  private func addThread(
    ofTask id: UInt64, to entries: inout [TaskDump.Entry], _ reader: TaskReader
  ) {
    let mark = threadMark.load(ordering: .relaxed)
    let thread = ThreadStack(ofThreadAt: mark, in: reader.images)
    // The busy actors that this thread may occupy, and for which other tasks wait.
    let held = Set(
      entries.compactMap { entry -> UInt? in
        guard case .executor(let actor) = entry.task.dependency, reader.layout.isBusy(actor),
          thread.mentions(actor)
        else { return nil }
        return actor
      })
    let running = entries.indices.filter { entries[$0].task.state == .running }
    let place =
      running.first { entries[$0].task.id == id }
      ?? (id == 0 && running.count == 1 ? running[0] : nil)
    // The task may not be among the tasks that were found.
    if place == nil {
      entries.append(TaskDump.Entry(task: TaskSnapshot(address: 0, id: id, state: .running)))
    }
    let index = place ?? entries.count - 1
    entries[index].thread = thread.functions
    entries[index].isBlocked = !thread.isRunning && !thread.functions.isEmpty
    entries[index].holds = held
  }
}

extension SchedulerState {
  /// The task whose job runs on the thread of `Scheduler.threadMark`.
  ///
  /// 0 for an actor drain that the scheduler started; `nil` if no job is known to run there.
  fileprivate var taskOfMarkedThread: UInt64? {
    if let running = activity.running { return running.task }
    return activity.externallyStartedTask == 0 ? nil : activity.externallyStartedTask
  }

  /// The tasks of the test that are in memory as long as the lock is held: they sleep, are ready, run
  /// the scope's body, or have made a clock.
  ///
  /// The other tasks are found by `TaskReader.entries(from:)`, which starts from these.
  fileprivate var knownTasks: [UnownedJob] {
    var tasks = virtualClocks.flatMap(\.sleepingTasks)
    tasks += idleness.ready.tasks
    tasks += testLifetime.tasks.map(\.job)
    if let body = scope?.body.task { tasks.append(body.job) }
    return tasks
  }
}

extension TaskReader {
  /// A limit, because memory that is read while it changes may refer to any number of tasks.
  private static let mostTasks = 1_000_000

  /// Inspects tasks, the tasks that they wait for, and their children.
  fileprivate func entries(from tasks: [UnownedJob]) -> [TaskDump.Entry] {
    var entries: [TaskDump.Entry] = []
    var seen: Set<UInt> = []
    var addresses = tasks.map { unsafeBitCast($0, to: UInt.self) }
    while let address = addresses.popLast(), entries.count < Self.mostTasks {
      guard seen.insert(address).inserted, let task = read(address), task.state != .over
      else { continue }
      var entry = TaskDump.Entry(task: task)
      addresses += task.children
      switch task.dependency {
      case .task(let other): addresses.append(other)
      case .executor(let identity): entry.actor = actorName(identity)
      case .continuation, .group, nil: break
      }
      entries.append(entry)
    }
    return entries
  }
}

extension Scheduler {
  /// Returns `text`; in a scope, with the scope's time and its pending sleeps in lines below it.
  func withScopeDescription(_ text: String) -> String {
    scope == nil ? text : text + "\n" + scopeDescription
  }

  /// For example `It is 1.0 seconds. Pending sleeps: none`; empty without a scope.
  var scopeDescription: String {
    guard let virtualClock = scope?.virtualClock else { return "" }
    let (now, lines) = change { _ in (virtualClock.now, virtualClock.pendingLines) }
    let pending = lines()
    return "It is \(now). Pending sleeps:\(pending.listedBelow)"
  }
}
