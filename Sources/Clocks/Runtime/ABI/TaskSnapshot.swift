import ClocksSupport

/// The contents of the runtime's memory for a task that does not run.
///
/// **When a task may be read.** Requires the scheduler's lock, so that meanwhile no job of the test is started
/// or enqueued through the hooks. The task must be retained, or a suspended task must refer to it. Still,
/// another thread may resume the task: an actor drain that works for another test, or the other test to which
/// the task belongs. So every read goes through `ProcessMemory`, which fails if the memory is no longer mapped.
/// Of a task that runs or is over, only the status, the parent and the name are read. The other parts count
/// only if the task is suspended or enqueued, and its status is equal before and after they are read.
struct TaskSnapshot: Sendable {
  enum State: Sendable {
    /// The task runs on a thread, or its state changed while it was read.
    case running
    /// The task is in a queue, or on the way there.
    case enqueued
    case suspended
    case over
  }

  enum Dependency: Hashable, Sendable {
    /// The value of the task at this address.
    case task(UInt)
    case continuation
    /// The children in the group at this address.
    case group(UInt)
    /// The task's turn on the executor or actor at this address; 0 for the default executor.
    case executor(UInt)
  }

  var address: UInt
  var id: UInt64
  var name: String?
  var state: State
  /// The task, group, continuation or executor for which the task waits; `nil` if there is none, or if it cannot be
  /// read.
  var dependency: Dependency?
  var parent: UInt?
  /// The children that the task has not awaited yet.
  var children: [UInt] = []
  /// The functions that continue when the task resumes, the innermost first.
  var functions: [UInt] = []
  var isCut = false
}

/// Reads snapshots of tasks, one at a time. Requires the scheduler's lock.
struct TaskReader {
  let images: CodeImages
  /// The parts of a task that can be read. The other parts of a snapshot stay empty.
  let layout: TaskLayoutProbe

  private static let mostFunctions = 256
  /// Ends the walk along a circular list, which can only be garbage.
  private static let mostChildren = 1_000_000

  init(_ images: CodeImages, _ layout: TaskLayoutProbe = .here) {
    self.images = images
    self.layout = layout
  }

  /// The functions with which a task continues, the innermost first; none if they cannot be read.
  func functions(of task: UnownedJob) -> [UInt] {
    read(unsafeBitCast(task, to: UInt.self))?.functions ?? []
  }

  /// Returns the name of the actor or executor at an address. Requires that a task waits for its turn on it.
  ///
  /// Returns `nil` for the default executor and the main executor, whose jobs pass through the hooks.
  func actorName(_ identity: UInt) -> String? {
    guard !Self.passesThroughHooks(identity) else { return nil }
    // The actor may have been freed. On Linux an object begins with its type. Types are never freed, and a type is read
    // only if it looks like that of a Swift class.
    guard
      let type = ProcessMemory.words(at: identity, count: 1)?[0],
      let words = Self.wordsOfClass(type), words == Self.wordsOfClass(Self.knownClass)
    else { return "an executor" }
    let known = unsafeBitCast(type, to: Any.Type.self)
    let kind = known is any Actor.Type ? "actor" : "executor"
    return "the \(kind) " + _typeName(known, qualified: false)
  }

  /// The words of a type that are equal in all Swift classes: the value witnesses, and the kind, which is 0.
  private static func wordsOfClass(_ type: UInt) -> [UInt]? {
    ProcessMemory.words(at: type &- UInt(MemoryLayout<UInt>.size), count: 2)
  }

  private static let knownClass = unsafeBitCast(ThreadSemaphore.self as Any.Type, to: UInt.self)

  /// Whether the jobs of the default or main executor at an address pass through the hooks.
  static func passesThroughHooks(_ identity: UInt) -> Bool {
    identity == 0 || identity == mainExecutor
  }

  private static let mainExecutor = ExecutorWords(MainActor.sharedUnownedExecutor).object

  /// Returns `nil` if no task is at the address, or nothing can be read.
  func read(_ address: UInt) -> TaskSnapshot? {
    guard let before = MemoryCopy(ofTask: address),
      before[TaskABI.Job.metadata] == layout.metadata,
      before.half(TaskABI.Job.flags) & TaskABI.JobFlags.kindMask == TaskABI.JobFlags.task
    else { return nil }
    var found = TaskSnapshot(
      address: address, id: before.taskID, state: Self.state(before.half(TaskABI.Task.status)))
    if before.half(TaskABI.Job.flags) & TaskABI.JobFlags.isChild != 0 {
      guard let fragment = Self.fragment(of: address) else { return nil }
      if layout.readsChildren { found.parent = fragment[TaskABI.ChildFragment.parent] }
    }
    let isAtRest = found.state == .suspended || found.state == .enqueued
    guard isAtRest || before.half(TaskABI.Job.flags) & TaskABI.JobFlags.hasName != 0 else {
      return found
    }
    // The records of a running task may change meanwhile. Then no name is found, or at worst another text.
    let records = before.records
    found.name = MemoryCopy.name(in: records)
    guard isAtRest else { return found }
    for record in records ?? [] { read(record, into: &found) }
    if layout.readsCallStacks { readFunctions(before, into: &found) }
    if !layout.readsDependencies { found.dependency = nil }
    // A task that was resumed meanwhile has another status, other records or another context.
    guard let after = MemoryCopy(ofTask: address) else { return nil }
    guard records != nil, Self.isSame(before, after) else {
      return TaskSnapshot(
        address: address, id: found.id, name: found.name, state: .running, parent: found.parent)
    }
    return found
  }

  private static func isSame(_ before: MemoryCopy, _ after: MemoryCopy) -> Bool {
    let bits =
      TaskABI.Status.isLocked | TaskABI.Status.isRunning | TaskABI.Status.isEnqueued
      | TaskABI.Status.isOver | TaskABI.Status.hasDependency
    let (old, new) = (before.half(TaskABI.Task.status), after.half(TaskABI.Task.status))
    return old & bits == new & bits
      && [TaskABI.Task.records, TaskABI.Job.resumeFunction, TaskABI.Task.resumeContext]
        .allSatisfy { before[$0] == after[$0] }
  }

  private static func state(_ status: UInt32) -> TaskSnapshot.State {
    if status & TaskABI.Status.isOver != 0 { return .over }
    // A thread that has locked the records is about to change them, so the task counts as running.
    if status & (TaskABI.Status.isRunning | TaskABI.Status.isLocked) != 0 { return .running }
    return status & TaskABI.Status.isEnqueued != 0 ? .enqueued : .suspended
  }

  private func read(_ record: MemoryCopy, into found: inout TaskSnapshot) {
    let content = record[TaskABI.Record.content]
    switch record.kind {
    case TaskABI.Record.Kind.dependency:
      found.dependency =
        switch record.half(TaskABI.Record.dependencyKind) {
        case TaskABI.Record.Dependency.task: .task(content)
        case TaskABI.Record.Dependency.continuation: .continuation
        case TaskABI.Record.Dependency.taskGroup: .group(content)
        case TaskABI.Record.Dependency.executor: .executor(content)
        default: nil
        }
    case TaskABI.Record.Kind.childTask, TaskABI.Record.Kind.taskGroup:
      if layout.readsChildren { readChildren(content, into: &found) }
    default: break
    }
  }

  private static func fragment(of child: UInt) -> MemoryCopy? {
    // The address may be garbage, so the sum may overflow.
    MemoryCopy(of: child &+ UInt(TaskABI.Task.size), size: TaskABI.ChildFragment.size)
  }

  private func readChildren(_ first: UInt, into found: inout TaskSnapshot) {
    var child = first
    while child != 0, found.children.count < Self.mostChildren {
      guard let fragment = Self.fragment(of: child),
        fragment[TaskABI.ChildFragment.parent] == found.address
      else { return }
      found.children.append(child)
      child = fragment[TaskABI.ChildFragment.nextChild]
    }
  }

  private func readFunctions(_ task: MemoryCopy, into found: inout TaskSnapshot) {
    let resume = task[TaskABI.Job.resumeFunction]
    guard images.image(of: resume) != nil else { return }
    found.functions.append(resume)
    var context = task[TaskABI.Task.resumeContext]
    while context != 0, let frame = MemoryCopy(of: context, size: TaskABI.Context.size) {
      context = frame[TaskABI.Context.parent]
      let function = frame[TaskABI.Context.resumeParent]
      guard images.image(of: function) != nil else { return }
      // A task that awaits a continuation resumes in the function that the continuation's own context names.
      // That function is already the first in the list.
      if found.dependency == .continuation, found.functions.count == 1, function == resume {
        continue
      }
      found.isCut = found.functions.count >= Self.mostFunctions
      guard !found.isCut else { return }
      found.functions.append(function)
    }
  }
}

/// A copy of some memory, read by offsets in bytes.
struct MemoryCopy {
  private let words: [UInt]

  /// `nil` if the memory cannot be read.
  init?(of address: UInt, size: Int) {
    let words = ProcessMemory.words(at: address, count: size / MemoryLayout<UInt>.size)
    guard let words else { return nil }
    self.words = words
  }

  init?(ofTask address: UInt) { self.init(of: address, size: TaskABI.Task.size) }

  subscript(_ offset: Int) -> UInt { words[offset / MemoryLayout<UInt>.size] }

  func half(_ offset: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: self[offset] >> (8 * (offset % MemoryLayout<UInt>.size)))
  }

  /// The task's id, if this is a copy of a task.
  var taskID: UInt64 { UInt64(half(TaskABI.Job.id)) | UInt64(half(TaskABI.Task.upperID)) << 32 }

  /// The status records of the task, the innermost first; `nil` if one cannot be read.
  ///
  /// Each nested cancellation handler or task group adds a record, so a longer list can only be garbage.
  var records: [MemoryCopy]? {
    var records: [MemoryCopy] = []
    var next = self[TaskABI.Task.records]
    while next != 0 {
      guard records.count < 10_000,
        let record = MemoryCopy(of: next, size: TaskABI.Record.size)
      else { return nil }
      records.append(record)
      next = record[TaskABI.Record.next]
    }
    return records
  }

  /// The name of the task; `nil` if it has none, or if it cannot be read.
  var name: String? { Self.name(in: records) }

  static func name(in records: [MemoryCopy]?) -> String? {
    records?.first { $0.kind == TaskABI.Record.Kind.name }
      .flatMap { ProcessMemory.text(at: $0[TaskABI.Record.content]) }
  }

  /// The kind, if this is a copy of a status record.
  var kind: UInt { self[TaskABI.Record.kind] & TaskABI.Record.kindMask }
}

/// Memory of this process that may have been freed. A read of unmapped memory fails, without any other effect.
///
/// The kernel does the reading, as for a debugger, so neither a wrong address nor a sanitizer ends the
/// process. Only Linux offers this; elsewhere nothing can be read.
enum ProcessMemory {
  #if os(Linux)
    private static let file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
  #endif

  /// Fills `buffer`, and returns whether all of it could be read. One system call.
  static func read(_ address: UInt, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    #if os(Linux)
      guard file >= 0, let offset = off_t(exactly: address), offset != 0 else { return false }
      return pread(file, buffer.baseAddress, buffer.count, offset) == buffer.count
    #else
      return false
    #endif
  }

  static func words(at address: UInt, count: Int) -> [UInt]? {
    guard address % UInt(MemoryLayout<UInt>.alignment) == 0 else { return nil }
    var isRead = false
    let words = [UInt](unsafeUninitializedCapacity: count) { buffer, initialized in
      isRead = read(address, into: UnsafeMutableRawBufferPointer(buffer))
      initialized = isRead ? count : 0
    }
    return isRead ? words : nil
  }

  /// The zero-terminated text at `address`, cut after about 4096 bytes; `nil` if it cannot be read.
  static func text(at address: UInt) -> String? {
    // Reads eight bytes at a time, because a text may end shortly before memory that is not mapped.
    var bytes: [UInt8] = []
    var next = address
    while bytes.count < 4096, !bytes.suffix(8).contains(0) {
      var eight = [UInt8](repeating: 0, count: Int(8 - next % 8))
      guard eight.withUnsafeMutableBytes({ read(next, into: $0) }) else { return nil }
      next += UInt(eight.count)
      bytes += eight
    }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
}
