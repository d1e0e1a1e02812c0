/// What the runtime has in memory about a task that does not run: what it waits for, its children, and
/// the functions that go on when it does.
///
/// **When it may be read.** The scheduler's lock is held, so that no task of the test is started or
/// resumed through the door meanwhile. The task is kept by somebody who is known, or a task that is
/// suspended refers to it. Yet a task may be resumed elsewhere at the same moment: by an actor that
/// works for another test, or because it is another test's. So every read goes through
/// `ProcessMemory`, which fails where there is nothing any more; and what was read is believed only if
/// the task is suspended, or waits for its turn, and its status is the same afterwards as it was
/// before. Of a task that runs nothing is read but its status.
struct TaskSnapshot: Sendable {
  enum State: Sendable {
    /// It runs on a thread, or its state changed while it was looked at.
    case running
    /// It is to run: in the scheduler's queue, on its way there, or in that of an actor or executor.
    case enqueued
    /// It waits for something.
    case suspended
    case over
  }

  /// What a task waits for.
  enum Dependency: Hashable, Sendable {
    /// The value of the task at this address.
    case task(UInt)
    case continuation
    /// The children in the group at this address.
    case group(UInt)
    /// Its turn on the executor with this identity, which is an actor's address; 0 for the default
    /// executor.
    case executor(UInt)
  }

  var address: UInt
  var id: UInt64
  var name: String?
  var state: State
  /// `nil` if it waits for nothing, or that cannot be read.
  var dependency: Dependency?
  /// The address of the task whose child it is.
  var parent: UInt?
  /// The addresses of the children that it has, as far as they are not awaited yet.
  var children: [UInt] = []
  /// The functions that go on when the task does, the innermost first.
  var functions: [UInt] = []
  /// Whether there are more functions than are read.
  var isCut = false
}

/// Where in memory what is. Known from the sources of Swift 6.3 (`TaskStatus.h`, `TaskPrivate.h`,
/// `Task.h`, `RuntimeInternals.h`), and tried before it is believed: see `TaskLayoutProbe`.
private enum Layout {
  // Words of a task.
  static let metadata = 0
  static let flagsAndID = 4
  static let resumeFunction = 7
  static let resumeContext = 8
  static let status = 12
  static let records = 13
  static let upperID = 18
  static let wordsOfTask = 26
  /// Bytes: the fragment of a child follows the task. {parent, next child}
  static let childFragment: UInt = 208

  // Bits of a job's flags.
  static let kindMask: UInt = 0xFF
  static let isChild: UInt = 1 << 24
  static let hasName: UInt = 1 << 30

  // Bits of a task's status.
  static let isLocked: UInt = 0x200
  static let isRunning: UInt = 0x800
  static let isEnqueued: UInt = 0x1000
  static let isOver: UInt = 0x2000
  static let hasDependency: UInt = 0x4000
  static let statusMask: UInt = isLocked | isRunning | isEnqueued | isOver | hasDependency

  // Words of a record: {kind, next record, …}.
  static let kind = 0
  static let next = 1
  static let content = 2
  static let dependencyKind = 4
  static let wordsOfRecord = 6
  /// The record is a part of the group, that much before it.
  static let groupHeader: UInt = 8

  enum Record {
    static let dependency: UInt = 0
    static let children: UInt = 1
    static let group: UInt = 2
    static let name: UInt = 6
  }
}

/// Reads tasks as one moment has them. One at a time; to be used with the scheduler's lock held.
struct TaskReader {
  /// Where code is, so that an address that is none does not count as a function.
  let images: CodeImages
  private var task = [UInt](repeating: 0, count: Layout.wordsOfTask)
  private var record = [UInt](repeating: 0, count: Layout.wordsOfRecord)
  private var pair: [UInt] = [0, 0]

  private static let mostFunctions = 256
  private static let mostRecords = 1_000
  /// So that a list that is a circle, which can only be garbage, comes to an end.
  private static let mostChildren = 1_000_000

  /// What every task begins with, by which one is known.
  private let metadata: UInt

  init(_ images: CodeImages, metadata: UInt) {
    self.images = images
    self.metadata = metadata
  }

  /// The name of an actor, by its address, while a task waits for its turn there; `nil` for the default
  /// executor.
  func actorName(_ identity: UInt) -> String? {
    guard identity != 0 else { return nil }
    if identity == Self.mainExecutor { return nil }
    // On Linux an object begins with its type, and that of a class of Swift's begins with a zero.
    guard
      let type = ProcessMemory.words(at: identity, count: 1)?[0],
      ProcessMemory.words(at: type, count: 1)?[0] == 0
    else { return "an executor" }
    let known = unsafeBitCast(type, to: Any.Type.self)
    let kind = known is any Actor.Type ? "actor" : "executor"
    return "the \(kind) " + _typeName(known, qualified: false)
  }

  /// The main executor: jobs for it come through the door.
  private static let mainExecutor = unsafeBitCast(
    MainActor.sharedUnownedExecutor, to: (UInt, UInt).self
  ).0

  /// Reads the task at an address; `nil` if there is none, or it cannot be read.
  mutating func read(_ address: UInt) -> TaskSnapshot? {
    guard
      ProcessMemory.read(address, into: &task), task[Layout.metadata] == metadata,
      task[Layout.flagsAndID] & Layout.kindMask == 0
    else { return nil }
    let before = task
    let status = task[Layout.status]
    let id =
      UInt64(task[Layout.flagsAndID] >> 32) | UInt64(task[Layout.upperID] & 0xFFFF_FFFF) << 32
    var found = TaskSnapshot(address: address, id: id, state: Self.state(status))
    if task[Layout.flagsAndID] & Layout.isChild != 0 {
      guard ProcessMemory.read(address + Layout.childFragment, into: &pair) else { return nil }
      found.parent = pair[0]
    }
    guard found.state == .suspended || found.state == .enqueued else {
      if before[Layout.flagsAndID] & Layout.hasName != 0 {
        found.name = name(among: before[Layout.records])
      }
      return found
    }
    let isRead = readRecords(before[Layout.records], into: &found)
    readFunctions(
      before[Layout.resumeFunction], before[Layout.resumeContext],
      isContinuation: found.dependency == .continuation, into: &found)
    // Whoever has gone on meanwhile has another status, other records, or another context.
    guard ProcessMemory.read(address, into: &task) else { return nil }
    guard isRead, Self.isSame(before, task) else {
      return TaskSnapshot(
        address: address, id: id, name: found.name, state: .running, parent: found.parent)
    }
    return found
  }

  private static func isSame(_ before: [UInt], _ after: [UInt]) -> Bool {
    before[Layout.status] & Layout.statusMask == after[Layout.status] & Layout.statusMask
      && before[Layout.records] == after[Layout.records]
      && before[Layout.resumeFunction] == after[Layout.resumeFunction]
      && before[Layout.resumeContext] == after[Layout.resumeContext]
  }

  private static func state(_ status: UInt) -> TaskSnapshot.State {
    if status & Layout.isOver != 0 { return .over }
    // Whoever has locked the records is about to change them.
    if status & (Layout.isRunning | Layout.isLocked) != 0 { return .running }
    return status & Layout.isEnqueued != 0 ? .enqueued : .suspended
  }

  /// Says whether the records could be read.
  private mutating func readRecords(_ first: UInt, into found: inout TaskSnapshot) -> Bool {
    var address = first
    for _ in 0..<Self.mostRecords {
      guard address != 0 else { return true }
      guard ProcessMemory.read(address, into: &record) else { return false }
      let record = record
      switch record[Layout.kind] & 0xFF {
      case Layout.Record.dependency: found.dependency = Self.dependency(record)
      case Layout.Record.children, Layout.Record.group:
        readChildren(record[Layout.content], into: &found)
      case Layout.Record.name: found.name = ProcessMemory.text(at: record[Layout.content])
      default: break
      }
      address = record[Layout.next]
    }
    return false
  }

  /// The name of a task that runs: its record stays where it is for as long as the task lives, but those
  /// before it may change meanwhile, and then there is none to be found, or another text at worst.
  private mutating func name(among first: UInt) -> String? {
    var address = first
    for _ in 0..<16 {
      guard address != 0, ProcessMemory.read(address, into: &record) else { return nil }
      if record[Layout.kind] & 0xFF == Layout.Record.name {
        return ProcessMemory.text(at: record[Layout.content])
      }
      address = record[Layout.next]
    }
    return nil
  }

  private static func dependency(_ record: [UInt]) -> TaskSnapshot.Dependency? {
    switch record[Layout.dependencyKind] & 0xFFFF_FFFF {
    case 1: .task(record[Layout.content])
    case 2: .continuation
    case 3: .group(record[Layout.content])
    case 4: .executor(record[Layout.content])
    default: nil
    }
  }

  private mutating func readChildren(_ first: UInt, into found: inout TaskSnapshot) {
    var child = first
    while child != 0, found.children.count < Self.mostChildren {
      guard ProcessMemory.read(child + Layout.childFragment, into: &pair),
        pair[0] == found.address
      else { return }
      found.children.append(child)
      child = pair[1]
    }
  }

  /// Follows the contexts: each has that of its caller, and the function that goes on there.
  private mutating func readFunctions(
    _ resume: UInt, _ context: UInt, isContinuation: Bool, into found: inout TaskSnapshot
  ) {
    guard images.stretch(of: resume) != nil else { return }
    found.functions.append(resume)
    var context = context
    while context != 0, ProcessMemory.read(context, into: &pair) {
      let (parent, function) = (pair[0], pair[1])
      context = parent
      guard images.stretch(of: function) != nil else { return }
      // Whoever awaits a continuation goes on in the function that the continuation's own context
      // names.
      if isContinuation, found.functions.count == 1, function == resume { continue }
      guard found.functions.count < Self.mostFunctions else {
        found.isCut = true
        return
      }
      found.functions.append(function)
    }
  }
}
