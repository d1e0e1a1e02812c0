import ClocksSupport

#if canImport(Dispatch)
  import Dispatch
#endif

// The executors that replace those of the runtime where the runtime's interface for custom executors cannot be
// used. The methods that enqueue jobs never read `self`; SPIExecutors.swift says why.

extension RuntimeHooks {
  static let poolExecutor = PatchedDefaultExecutor()
  static let mainExecutor = PatchedMainExecutor()
  static let mainReference = UnownedSerialExecutor(ordinary: mainExecutor)
}

/// The default executor, and the preferred executor of tasks whose every hop must be seen.
///
/// It does not conform to `SchedulingExecutor`, so the runtime calls the hooks for every sleep.
final class PatchedDefaultExecutor: TaskExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .pool) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // The task prefers this executor, so the runtime bypasses the hook that other code has set. This calls the hook.
    guard RuntimeHooks.isOnlyPreferred, let hook = JobHook.ofOtherCode else {
      return RuntimeHooks.jobEnqueued(job, on: .pool)
    }
    hook(job) { RuntimeHooks.jobEnqueued($0, on: .pool) }
  }
}

final class PatchedMainExecutor: SerialExecutor {
  func enqueue(_ job: UnownedJob) { RuntimeHooks.jobEnqueued(job, on: .main) }

  func enqueue(_ job: consuming ExecutorJob) {
    RuntimeHooks.jobEnqueued(UnownedJob(job), on: .main)
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  #if canImport(Dispatch)
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }
  #endif
}

// Copies of protocols that only the runtime's private interface declares (`ExecutorFactory`, `MainExecutor` and
// `RunLoopExecutor` of Swift 6.3). The layout of their tables follows from the order of their requirements and
// of the protocols that they inherit. The compiler sorts inherited protocols by the names of their modules, and
// `Clocks` precedes `_Concurrency`. This module calls no requirement of the copies. So they are `package`: the
// optimizer would delete the methods that implement a private or internal protocol.

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
    // The platform's executors do this, too. Apple's runs the run loop of Core Foundation, if that is loaded.
    // `dispatchMain` keeps one thread that receives the signals that Dispatch's other threads block.
    #if canImport(Darwin)
      typealias Run = @convention(c) () -> Void
      if let run = RuntimeSymbol.function("CFRunLoopRun", as: Run.self) { return run() }
    #endif
    #if canImport(Dispatch)
      dispatchMain()
    #else
      fatalError("Clocks: this executor is not installed here.")
    #endif
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
  /// The runtime exports `swift_createExecutors` since Swift 6.3.
  static func createExecutors() -> Bool {
    guard let create = RuntimeSymbol.address(of: "swift_createExecutors") else { return false }
    let factory: any LookAlikeFactory.Type = PatchedExecutorFactory.self
    // Without the cast, the compiler would open the existential and pass only one word.
    let (type, table) = unsafeBitCast(
      factory as any LookAlikeFactory.Type, to: (UnsafeRawPointer, UnsafeRawPointer).self)
    // A generic function also takes the type and the witness table of its parameter: hence three words.
    unsafeBitCast(create, to: Create.self)(type, type, table)
    return true
  }
}
