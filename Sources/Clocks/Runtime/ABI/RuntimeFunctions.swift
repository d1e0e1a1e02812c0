import ClocksSupport

// Functions that the runtime exports for the compiler and the standard library. Each is looked up
// by name; where it is missing, the public function is called, or the feature is absent.

/// The current task and its cancellation handlers, at a tenth of the cost of the public functions.
enum RuntimeFunctions {
  nonisolated(unsafe) private static var getCurrent: UnsafeMutableRawPointer?
  nonisolated(unsafe) private static var addHandler: UnsafeMutableRawPointer?
  nonisolated(unsafe) private static var removeHandler: UnsafeMutableRawPointer?

  /// Called once, before the hooks are installed.
  static func prepare() {
    getCurrent = RuntimeSymbol.address(of: "swift_task_getCurrent")
    addHandler = RuntimeSymbol.address(of: "swift_task_addCancellationHandler")
    removeHandler = RuntimeSymbol.address(of: "swift_task_removeCancellationHandler")
  }

  /// The current task; `nil` outside any task.
  @_transparent
  static var currentTask: UnownedJob? {
    guard let getCurrent else {
      return withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UnownedJob.self) } }
    }
    return unsafeBitCast(getCurrent, to: GetCurrent.self)()
  }

  /// Whether `add` and `remove` may be called.
  static var haveHandlers: Bool { addHandler != nil && removeHandler != nil }

  /// Adds a handler; runs it immediately if the task is already cancelled. Handlers are to be removed in reverse order.
  @_transparent
  fileprivate static func add(_ handler: () -> Void) -> UnsafeRawPointer {
    unsafeBitCast(addHandler, to: AddHandler.self)(handler)
  }

  /// Removes a handler. Waits while the handler runs.
  @_transparent
  fileprivate static func remove(_ record: UnsafeRawPointer) {
    unsafeBitCast(removeHandler, to: RemoveHandler.self)(record)
  }

  private typealias GetCurrent = @convention(thin) () -> UnownedJob?
  private typealias AddHandler = @convention(thin) (() -> Void) -> UnsafeRawPointer
  private typealias RemoveHandler = @convention(thin) (UnsafeRawPointer) -> Void
}

extension RuntimeFunctions {
  private typealias Demangle =
    @convention(c) (
      UnsafePointer<CChar>?, UInt, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<UInt>?, UInt32
    ) -> UnsafeMutablePointer<CChar>?

  private static let demangle = RuntimeSymbol.function("swift_demangle", as: Demangle.self)

  /// Returns the symbol itself if it does not come from Swift.
  static func demangled(_ symbol: String) -> String {
    guard let name = demangle?(symbol, UInt(symbol.utf8.count), nil, nil, 0) else { return symbol }
    defer { free(name) }
    return String(cString: name)
  }
}

/// Suspends the current task with a cancellation handler.
///
/// Does the work of `withTaskCancellationHandler` and `withUnsafeThrowingContinuation` together, without a function
/// and a closure between the two.
///
/// Requires `RuntimeFunctions.haveHandlers`. The handler's record is allocated on the task's own stack, where
/// generic code also keeps copies of its values. So the caller must not be generic.
@inline(__always)
nonisolated(nonsending) func withCancellableContinuation(
  onCancel: @Sendable () -> Void, _ body: (UnsafeContinuation<Void, any Error>) -> Void
) async throws {
  let record = RuntimeFunctions.add(onCancel)
  defer { RuntimeFunctions.remove(record) }
  try await withUnsafeThrowingContinuation { body($0) }
}

/// Does the work of `withCancellableContinuation` for generic callers and on all platforms, on no actor.
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

/// Never inlined, so that the caller's frame stays small.
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

/// The actor on which the current task runs.
enum CurrentActor {
  private typealias GetExecutor = @convention(thin) () -> ExecutorWords

  private static let getExecutor: GetExecutor? = {
    #if canImport(Darwin)
      // On arm64e function pointers must be signed, and this code cannot sign them.
      nil
    #else
      RuntimeSymbol.function("swift_task_getCurrentExecutor", as: GetExecutor.self)
    #endif
  }()

  /// The type of the actor, or of its custom executor; `nil` if there is no actor, or its type is not known. O(1).
  static var type: AnyObject.Type? {
    guard let type = typeOfObject(getExecutor?()) else { return nil }
    return type == mainExecutor ? MainActor.self : type
  }

  /// The type of the main actor's executor, as it is once the hooks are installed.
  private static let mainExecutor: AnyObject.Type? = typeOfObject(
    ExecutorWords(MainActor.sharedUnownedExecutor))

  private static func typeOfObject(_ executor: ExecutorWords?) -> AnyObject.Type? {
    executor.flatMap { UnsafeRawPointer(bitPattern: $0.object) }.map { object in
      Unmanaged<AnyObject>.fromOpaque(object)._withUnsafeGuaranteedRef { Swift.type(of: $0) }
    }
  }
}

/// The number of references to a closure before a run.
///
/// After the run, suspended tasks may still refer to the closure. `releaseReferences` releases these references.
///
/// A closure that was passed as a non-escaping argument must have no other references when the call returns,
/// or the program traps.
package struct ClosureRetainBalance: Sendable {
  package typealias Function = @Sendable () async throws -> Void

  /// Holds a function for a cast: casting a bare function would wrap it in another one.
  private struct Box { var function: Function }

  private let count: Int

  /// Counts the references to a closure now.
  ///
  /// Not an initializer, because an initializer retains its arguments.
  package static func countHolders(of function: @escaping Function) -> ClosureRetainBalance {
    ClosureRetainBalance(count: holders(of: function))
  }

  /// Releases the references that were added since the count. Their holders must never use the closure again.
  ///
  /// A blocked thread may still return through the closure, and release it once more. So the closure's memory is kept.
  package func releaseReferences(to function: @escaping Function) {
    guard let context = Self.context(of: function), Self.holders(of: function) > count else {
      return
    }
    for _ in 0..<16 { _ = Self.keepMemory?(context) }
    while Self.holders(of: function) > count {
      Unmanaged<AnyObject>.fromOpaque(context).release()
    }
  }

  /// Descriptions of what may go wrong because a function was not found.
  static var missing: [String] {
    keepMemory == nil
      ? ["whether a blocked thread still uses a test's closure (swift_unownedRetain)"] : []
  }

  private static let keepMemory = RuntimeSymbol.function(
    "swift_unownedRetain",
    as: (@convention(c) (UnsafeRawPointer) -> UnsafeRawPointer).self)

  /// Never inlined, so that each count equally includes the references that the call itself holds.
  @inline(never)
  private static func holders(of function: @escaping Function) -> Int {
    guard let context = context(of: function) else { return 0 }
    return Int(_getRetainCount(unsafeBitCast(context, to: AnyObject.self)))
  }

  /// The object that holds what a closure captured; `nil` if it captured nothing.
  private static func context(of function: @escaping Function) -> UnsafeRawPointer? {
    unsafeBitCast(Box(function: function), to: (UnsafeRawPointer, UnsafeRawPointer?).self).1
  }
}
