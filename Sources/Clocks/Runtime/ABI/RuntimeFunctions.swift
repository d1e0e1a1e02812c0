import ClocksSupport

/// Entries of the runtime which the compiler and the standard library call, too, and that cost a tenth of
/// the generic functions around them. They are looked up by name, before the door is opened; where one
/// is missing, the standard library is asked.
enum RuntimeFunctions {
  @exclusivity(unchecked) nonisolated(unsafe) private static var getCurrent:
    UnsafeMutableRawPointer?
  nonisolated(unsafe) private static var addHandler: UnsafeMutableRawPointer?
  nonisolated(unsafe) private static var removeHandler: UnsafeMutableRawPointer?

  /// Looks them up. Thread-safe.
  static func prepare() { _ = isResolved }

  private static let isResolved: Bool = {
    let program = dlopen(nil, RTLD_NOW)
    getCurrent = dlsym(program, "swift_task_getCurrent")
    addHandler = dlsym(program, "swift_task_addCancellationHandler")
    removeHandler = dlsym(program, "swift_task_removeCancellationHandler")
    return true
  }()

  /// The current task, or `nil` outside any task.
  @inline(__always)
  static var currentTask: UnownedJob? {
    guard let getCurrent else {
      return withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UnownedJob.self) } }
    }
    return unsafeBitCast(getCurrent, to: GetCurrent.self)()
  }

  // MARK: - Handlers of cancellations

  /// Whether `add` and `remove` may be called.
  static var haveHandlers: Bool { addHandler != nil && removeHandler != nil }

  /// Adds a handler to the current task, which is called at once if the task is cancelled already. A task's
  /// handlers come and go like its calls: last in, first out.
  @inline(__always)
  fileprivate static func add(_ handler: () -> Void) -> UnsafeRawPointer {
    unsafeBitCast(addHandler, to: AddHandler.self)(handler)
  }

  /// Takes it out. While it runs, this waits.
  @inline(__always)
  fileprivate static func remove(_ record: UnsafeRawPointer) {
    unsafeBitCast(removeHandler, to: RemoveHandler.self)(record)
  }

  private typealias GetCurrent = @convention(thin) () -> UnownedJob?
  private typealias AddHandler = @convention(thin) (() -> Void) -> UnsafeRawPointer
  private typealias RemoveHandler = @convention(thin) (UnsafeRawPointer) -> Void
}

/// Suspends the current task as `withTaskCancellationHandler` and `withUnsafeThrowingContinuation` do
/// together, without an asynchronous function and a closure for what is in between. Only where
/// `RuntimeFunctions.haveHandlers`.
///
/// The handler's record is in the task's own memory, where the last is first to go: whoever calls this is
/// not generic, for what is generic has its copies there, too.
@inline(__always)
nonisolated(nonsending) func withCancellableContinuation(
  onCancel: @Sendable () -> Void, _ body: (UnsafeContinuation<Void, any Error>) -> Void
) async throws {
  let record = RuntimeFunctions.add(onCancel)
  defer { RuntimeFunctions.remove(record) }
  try await withUnsafeThrowingContinuation { body($0) }
}

/// The same apart, for whoever is generic; on no actor, as the closure between the two would be; and
/// everywhere.
@concurrent @inline(never)
func withCancellableContinuationOnNoActor(
  onCancel: @Sendable () -> Void,
  _ body: @Sendable (UnsafeContinuation<Void, any Error>) -> Void
) async throws {
  guard RuntimeFunctions.haveHandlers else {
    return try await withStandardLibrary(onCancel: onCancel, body)
  }
  try await withCancellableContinuation(onCancel: onCancel, body)
}

/// The same by what is public. Apart, so that its frame is no part of that of others.
@concurrent @inline(never)
private func withStandardLibrary(
  onCancel: @Sendable () -> Void,
  _ body: @Sendable (UnsafeContinuation<Void, any Error>) -> Void
) async throws {
  try await withTaskCancellationHandler {
    try await withUnsafeThrowingContinuation { body($0) }
  } onCancel: {
    onCancel()
  }
}
