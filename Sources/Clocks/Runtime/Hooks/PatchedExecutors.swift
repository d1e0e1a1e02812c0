import ClocksSupport
import Dispatch

// The executors through which every job comes where the runtime's own interface for executors cannot
// be used. No method of theirs reads `self`: see Executors.swift for the reason.

extension RuntimeHooks {
  static let poolExecutor = PatchedDefaultExecutor()
  static let mainExecutor = PatchedMainExecutor()
  static let mainReference = UnownedSerialExecutor(ordinary: mainExecutor)
}

/// The default executor.
///
/// It cannot sleep, on purpose: so the runtime asks the hooks to, for every sleep.
final class PatchedDefaultExecutor: TaskExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .pool)
  }
}

/// The main actor's executor.
final class PatchedMainExecutor: SerialExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .main) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }
}

// MARK: - By the factory function

// Look-alikes of the protocols that only the runtime's private interface names (`ExecutorFactory`,
// `MainExecutor` and `RunLoopExecutor` of Swift 6.3). What counts is the order of their requirements,
// and of the protocols that they inherit: the compiler lays their tables out by it. Inherited
// protocols are sorted by the names of their modules, and `Clocks` comes before `_Concurrency`.

private protocol LookAlikeRunLoopExecutor: Executor {
  func run() throws
  func runUntil(_ condition: () -> Bool) throws
  func stop()
}

private protocol LookAlikeMainExecutor: LookAlikeRunLoopExecutor, SerialExecutor {}

private protocol LookAlikeFactory {
  static var mainExecutor: any LookAlikeMainExecutor { get }
  static var defaultExecutor: any TaskExecutor { get }
}

private struct PatchedExecutorFactory: LookAlikeFactory {
  static let mainExecutor: any LookAlikeMainExecutor = CreatedMainExecutor()
  static var defaultExecutor: any TaskExecutor { RuntimeHooks.poolExecutor }
}

/// The main actor's executor where the runtime is given one by the factory: it also runs the main
/// thread's loop for a program with an asynchronous `main`.
private final class CreatedMainExecutor: LookAlikeMainExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .main) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }

  func run() throws {
    // On Apple's platforms the loop is Core Foundation's, where that is loaded.
    if let run = RuntimeHooks.symbol("CFRunLoopRun") {
      unsafeBitCast(run, to: (@convention(c) () -> Void).self)()
    } else {
      dispatchMain()
    }
  }

  func runUntil(_ condition: () -> Bool) throws {
    fatalError("Clocks: the main executor cannot run until a condition holds.")
  }

  func stop() {
    guard
      let stop = RuntimeHooks.symbol("CFRunLoopStop"),
      let main = RuntimeHooks.symbol("CFRunLoopGetMain")
    else { return }
    let loop = unsafeBitCast(main, to: (@convention(c) () -> UnsafeMutableRawPointer?).self)()
    unsafeBitCast(stop, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)(loop)
  }
}

extension RuntimeHooks {
  private typealias Create =
    @convention(thin) (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer) -> Void

  /// Has the runtime take both executors from a factory of ours, by a function which it exports since
  /// Swift 6.3; says whether that could be done.
  static func createExecutors() -> Bool {
    guard let create = symbol("swift_createExecutors") else { return false }
    let factory: any LookAlikeFactory.Type = PatchedExecutorFactory.self
    // Why the cast: without it the compiler would open the box and pass one word.
    let (type, table) = unsafeBitCast(
      factory as any LookAlikeFactory.Type, to: (UnsafeRawPointer, UnsafeRawPointer).self)
    // The function's own argument, and the generic parameter's type and table.
    unsafeBitCast(create, to: Create.self)(type, type, table)
    return true
  }
}
