import Foundation

/// The ready jobs of the floor, in FIFO order.
///
/// The runtime hands them over in its enqueue hook, because a task with an executor of its own pays
/// for it at each hop. Only one thread may use the queue.
enum ReadyJobs {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

  private struct State {
    var jobs = GrowingArray<UnownedJob>()
    var next = 0
    var thread = pthread_self()
    /// The previous hook, for the other threads.
    var previous: Hook?
  }

  nonisolated(unsafe) private static let state = {
    let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
    state.initialize(to: State())
    return state
  }()

  /// The address of the runtime's hook, which never changes.
  nonisolated(unsafe) private static let hook: UnsafeMutablePointer<Hook?> = {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else {
      fatalError("This runtime has no hook; the floor cannot run here.")
    }
    return symbol.assumingMemoryBound(to: Hook?.self)
  }()

  private static let genericExecutor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

  /// Collects the jobs that this thread makes ready in `body`.
  static func capture<Result>(_ body: () -> Result) -> Result {
    let previous = hook.pointee
    state.pointee.previous = previous
    state.pointee.thread = pthread_self()
    hook.pointee = { job, enqueue in
      let state = ReadyJobs.state
      if pthread_equal(pthread_self(), state.pointee.thread) != 0 {
        state.pointee.jobs.append(job)
      } else if let previous = state.pointee.previous {
        previous(job, enqueue)
      } else {
        enqueue(job)
      }
    }
    defer { hook.pointee = previous }
    return body()
  }

  /// Runs jobs until no job is ready.
  static func run() {
    let (state, executor) = (state, genericExecutor)
    while state.pointee.next < state.pointee.jobs.count {
      let job = state.pointee.jobs[state.pointee.next]
      state.pointee.next += 1
      job.runSynchronously(on: executor)
    }
    state.pointee.jobs.removeAll()
    state.pointee.next = 0
  }
}
