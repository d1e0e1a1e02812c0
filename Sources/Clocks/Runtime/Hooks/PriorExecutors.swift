import ClocksSupport
import Dispatch

#if os(Linux)
  internal import CDispatch
#endif

/// The two words by which the runtime knows an executor: an object and the table of its methods.
struct ExecutorWords: Equatable {
  var object: UInt
  var table: UInt

  init(_ executor: UnownedSerialExecutor) { self = unsafeBitCast(executor, to: Self.self) }

  // Why the argument is declared as what it is: without that the compiler would look into the box and
  // pass one word.
  init(_ executor: any TaskExecutor) {
    self = unsafeBitCast(executor as any TaskExecutor, to: Self.self)
  }

  /// The table without the bits in which the runtime keeps what else it knows of the executor.
  var methods: UnsafeMutablePointer<UInt>? { UnsafeMutablePointer(bitPattern: table & ~7) }
}

/// The executors that were there before the door was opened, to which foreign jobs go.
enum PriorExecutors {
  static let pool: any TaskExecutor = globalConcurrentExecutor
  private static let main = MainActor.sharedUnownedExecutor

  /// To be called before the executors are replaced.
  static func remember() { _ = (pool, main, areDispatch) }

  /// Whether those executors are the platform's own and hand their jobs to Dispatch.
  static let areDispatch: Bool = {
    switch _typeName(type(of: pool)) {
    // Up to Swift 6.1 nobody could replace them.
    case "Swift._DefaultGlobalConcurrentExecutor": return true
    case "Swift.DispatchGlobalTaskExecutor", "Swift.CFTaskExecutor": break
    default: return false
    }
    switch mainExecutor.map({ _typeName(type(of: $0)) }) {
    case "Swift.DispatchMainExecutor", "Swift.CFMainExecutor": return true
    default: return false
    }
  }()

  /// The main actor's, where it is an object of Swift's: since Swift 6.2.
  private static var mainExecutor: (any SerialExecutor)? {
    var words = ExecutorWords(main)
    words.table &= ~7
    guard words.object != 0, words.table != 0 else { return nil }
    return unsafeBitCast(words, to: (any SerialExecutor).self)
  }

  fileprivate static func enqueue(_ job: UnownedJob, on executor: ExecutorKind) {
    switch executor {
    case .pool: pool.enqueue(ExecutorJob(job))
    case .main: mainExecutor?.enqueue(ExecutorJob(job))
    }
  }
}

extension RuntimeHooks {
  /// Hands a foreign job to where it would have gone without us.
  ///
  /// The platform's executors do nothing but hand a job to Dispatch, so that is what is done here
  /// as well, with two differences: we see when the job has ended; and the queues are Dispatch's
  /// own, which get a new thread when one is blocked, and not the platform's, which have as many
  /// as there are cores: a test that blocks its thread keeps no other test from running, nor us
  /// from saying so. Executors that somebody else installed get the job as it is.
  static func runElsewhere(_ job: UnownedJob, on executor: ExecutorKind) {
    guard PriorExecutors.areDispatch else {
      TestCaseMembership.forgetYield(job)
      return PriorExecutors.enqueue(job, on: executor)
    }
    let isCounted = TaskOwnership.shared.unownedJobWillRun()
    #if os(Linux)
      // With a function and a pointer, as the platform does it, and not with a closure: that takes
      // no memory of its own.
      let pointer = unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
      let queue =
        executor == .main
        ? dispatch_get_main_queue() : InternalDispatch.poolQueue(quality(of: job.priority))
      switch executor {
      case .pool where isCounted:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(
            unsafeBitCast($0, to: UnownedJob.self), on: .pool, isCounted: true)
        }
      case .pool:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(unsafeBitCast($0, to: UnownedJob.self), on: .pool)
        }
      case .main where isCounted:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(
            unsafeBitCast($0, to: UnownedJob.self), on: .main, isCounted: true)
        }
      case .main:
        dispatch_async_f(queue, pointer) {
          RuntimeHooks.runUnowned(unsafeBitCast($0, to: UnownedJob.self), on: .main)
        }
      }
    #else
      let pool = DispatchQueue.global(qos: quality(of: job.priority))
      (executor == .main ? .main : pool).async {
        runUnowned(job, on: executor, isCounted: isCounted)
      }
    #endif
  }

  /// Runs a foreign job when the time has come; one that is to run in a few hundred years never
  /// does.
  static func runElsewhere(_ job: UnownedJob, after delay: Duration) {
    if delayStep(job) { return }
    noteRealSleep(job, for: delay)
    // The job only resumes the task that has slept, whose priority counts when it comes to the door.
    RealTime(in: delay).schedule { runUnowned(job, on: .pool) }
  }

  #if os(Linux)
    /// The class of quality (`sys/qos.h`) whose number the priority is.
    private static func quality(of priority: JobPriority) -> Int {
      switch priority.rawValue {
      case 33...: 33
      case 25...: 25
      case 18...: 21
      case 10...: 17
      case 1...: 9
      default: 21
      }
    }
  #else
    /// The class of quality whose number the priority is.
    private static func quality(of priority: JobPriority) -> DispatchQoS.QoSClass {
      switch priority.rawValue {
      case 33...: .userInteractive
      case 25...: .userInitiated
      case 18...: .default
      case 10...: .utility
      case 1...: .background
      default: .default
      }
    }
  #endif
}
