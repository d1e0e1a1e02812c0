/// An option with which a task is created, and that names an executor.
///
/// `TaskABI.Option` has the layout. The kinds, and the layout, are learned from tasks that this package creates.
struct TaskOption {
  var kind: UInt
  var next: UnsafeRawPointer?
  var executor: ExecutorWords

  // Written once, after the creation of tasks was redirected.

  /// Whether options are laid out as `TaskABI.Option` says. Otherwise none is read or made.
  nonisolated(unsafe) private(set) static var areReadable = false
  /// The kind of an option with the executor that a task prefers.
  nonisolated(unsafe) private(set) static var preferenceKind: UInt = 0
  /// The kind of an option with a task's serial executor.
  nonisolated(unsafe) private(set) static var serialKind: UInt = 0

  /// Returns where the options state a preference for no executor; `nil` if they do not.
  static func emptyPreference(
    in options: UnsafeRawPointer?
  ) -> UnsafeMutablePointer<ExecutorWords>? {
    var next = options
    while let option = next {
      if option.load(fromByteOffset: TaskABI.Option.kind, as: UInt.self) == preferenceKind {
        let words = UnsafeMutableRawPointer(mutating: option + TaskABI.Option.executor)
          .assumingMemoryBound(to: ExecutorWords.self)
        if words.pointee.object == 0 { return words }
      }
      next = option.load(fromByteOffset: TaskABI.Option.next, as: UnsafeRawPointer?.self)
    }
    return nil
  }

  #if os(Linux) && canImport(Glibc)
    /// Creates a task with each kind. Each also has a name, so that its list has more than one option.
    static func learn() {
      guard TaskCreation.isSeen else { return }
      let preferring = ThreadContext.capturingNextJob(for: .learning) {
        Task.detached(name: "an option", executorPreference: Hops.executor) {}
      }
      let preferenceKind = learnedKind
      learnedKind = nil
      _ = ThreadContext.capturingNextJob(for: .learning) {
        Task.detached(name: "an option") { @LearningActor in }
      }
      preferring.map { RuntimeHooks.run($0, on: .pool) }
      guard let preferenceKind, let serialKind = learnedKind, preferenceKind != serialKind else {
        return
      }
      (Self.preferenceKind, Self.serialKind, areReadable) = (preferenceKind, serialKind, true)
    }
  #endif

  /// The kind that `learn(from:)` found in the options of the latest task.
  nonisolated(unsafe) private static var learnedKind: UInt?

  /// Called with the options of each task that `learn` creates.
  static func learn(from options: UnsafeRawPointer?) {
    learnedKind = kind(
      in: options,
      of: [
        ExecutorWords(Hops.executor.asUnownedTaskExecutor()),
        ExecutorWords(LearningActor.executor.asUnownedSerialExecutor()),
      ])
  }

  /// Returns the kind of the only option with one of the executors; `nil` if the list is not laid out as expected.
  ///
  /// In another layout, a pointer may be anything. So the kernel reads the list: it returns an error.
  static func kind(in options: UnsafeRawPointer?, of executors: [ExecutorWords]) -> UInt? {
    var kinds: Set<UInt> = []
    var found: UInt?
    var next = UInt(bitPattern: options)
    while next != 0 {
      guard let option = MemoryCopy(of: next, size: TaskABI.Option.size),
        case let kind = option[TaskABI.Option.kind], kind < 1 << 8, kinds.insert(kind).inserted
      else { return nil }
      let place = TaskABI.Option.executor
      let words = (option[place], option[place + MemoryLayout<UInt>.size])
      let executor = unsafeBitCast(words, to: ExecutorWords.self).reference
      if executors.contains(where: { $0.reference == executor }) {
        guard found == nil else { return nil }
        found = kind
      }
      next = option[TaskABI.Option.next]
    }
    return kinds.count > 1 ? found : nil
  }
}

/// The actor of a task whose creation shows the kind of the option with a serial executor.
@globalActor private actor LearningActor {
  /// Runs each job immediately.
  final class Executor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      UnownedJob(job).runSynchronously(on: asUnownedSerialExecutor())
    }
  }

  static let shared = LearningActor()
  static let executor = Executor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}
