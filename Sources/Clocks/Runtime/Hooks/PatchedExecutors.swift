import ClocksSupport
import Dispatch

// The executors that replace those of the runtime where its own interface for executors cannot be used. Their
// methods never read `self`: SPIExecutors.swift gives the reason.

extension RuntimeHooks {
  static let poolExecutor = PatchedDefaultExecutor()
  static let mainExecutor = PatchedMainExecutor()
  static let mainReference = UnownedSerialExecutor(ordinary: mainExecutor)
}

/// The default executor, and the preferred executor of tasks whose hops are to be seen.
///
/// It does not conform to `SchedulingExecutor`, so the runtime calls the hooks for every sleep.
final class PatchedDefaultExecutor: TaskExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .pool)
  }
}

final class PatchedMainExecutor: SerialExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .main) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }
}

// Copies of protocols that only the runtime's private interface declares (`ExecutorFactory`, `MainExecutor`
// and `RunLoopExecutor` of Swift 6.3). The layout of their tables follows from the order of their
// requirements and of the protocols that they inherit. Inherited protocols are sorted by the names of their
// modules, and `Clocks` precedes `_Concurrency`. Why `package`: this module calls no requirement, and the
// optimizer deletes the methods that implement requirements of a private or internal protocol.

package protocol LookAlikeRunLoopExecutor: Executor {
  func run() throws
  func runUntil(_ condition: () -> Bool) throws
  func stop()
}

package protocol LookAlikeMainExecutor: LookAlikeRunLoopExecutor, SerialExecutor {}

package protocol LookAlikeFactory {
  static var mainExecutor: any LookAlikeMainExecutor { get }
  static var defaultExecutor: any TaskExecutor { get }
}

private struct PatchedExecutorFactory: LookAlikeFactory {
  static let mainExecutor: any LookAlikeMainExecutor = RuntimeHooks.mainExecutor
  static var defaultExecutor: any TaskExecutor { RuntimeHooks.poolExecutor }
}

extension PatchedMainExecutor: LookAlikeMainExecutor {
  /// Runs the main thread's loop, in a program with an asynchronous `main`.
  func run() throws {
    // On Apple's platforms the platform's executor runs the loop of Core Foundation, where that is loaded. On Linux
    // it runs none: Dispatch lets a thread receive the signals that its other threads block.
    #if canImport(Darwin)
      typealias Run = @convention(c) () -> Void
      if let run = RuntimeSymbol.function("CFRunLoopRun", as: Run.self) { return run() }
    #endif
    dispatchMain()
  }

  func runUntil(_ condition: () -> Bool) throws {
    fatalError("Clocks: the main executor cannot run until a condition holds.")
  }

  func stop() {
    typealias Stop = @convention(c) (UnsafeMutableRawPointer?) -> Void
    typealias GetMain = @convention(c) () -> UnsafeMutableRawPointer?
    guard
      let stop = RuntimeSymbol.function("CFRunLoopStop", as: Stop.self),
      let main = RuntimeSymbol.function("CFRunLoopGetMain", as: GetMain.self)
    else { return }
    stop(main())
  }
}

extension RuntimeHooks {
  private typealias Create =
    @convention(thin) (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer) -> Void

  /// Makes the runtime take both executors from a factory, and returns whether that worked.
  ///
  /// The runtime exports the function for it since Swift 6.3.
  static func createExecutors() -> Bool {
    guard let create = RuntimeSymbol.address(of: "swift_createExecutors") else { return false }
    let factory: any LookAlikeFactory.Type = PatchedExecutorFactory.self
    // Why the cast: without it the compiler would open the existential and pass one word.
    let (type, table) = unsafeBitCast(
      factory as any LookAlikeFactory.Type, to: (UnsafeRawPointer, UnsafeRawPointer).self)
    // The function's argument, and the type and the table of its generic parameter.
    unsafeBitCast(create, to: Create.self)(type, type, table)
    return true
  }
}
