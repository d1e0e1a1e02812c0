extension Hops {
  /// What of it is not so in this process, in words; `nil` if hops can be seen. The first time it is
  /// asked for it is tried out, in some microseconds. Thread-safe.
  static let missing: String? = tryOut()

  /// An actor to hop to.
  private actor Target {
    private var visits = 0

    @inline(never)
    func waitForCurrentJobAndTask() -> Int {
      visits += 1
      return visits
    }
  }

  /// What the optimizer does not know, so that it leaves the hop out that comes before in no case.
  @inline(never)
  private static func use(_ first: Int, _ second: Int) { withExtendedLifetime((first, second)) {} }

  private static func tryOut() -> String? {
    guard RuntimeHooks.selfTest.rung == .executors, TaskCreation.isSeen else {
      return "the creation of tasks"
    }
    guard #available(macOS 15.0, iOS 18.0, tvOS 18.0, watchOS 11.0, visionOS 2.0, *) else {
      return "executors that tasks prefer"
    }
    if let task = ThreadContext.capturingNextJob(
      for: .learning, { Task.detached(executorPreference: executor) {} })
    {
      RuntimeHooks.run(task, on: .pool)
    }
    guard kind != 0 else { return "how a task is made that prefers an executor" }

    let target = Target()
    let body: @Sendable () async -> Void = {
      let first = await target.waitForCurrentJobAndTask()
      let second = await target.waitForCurrentJobAndTask()
      use(first, second)
    }
    guard
      let task = ThreadContext.capturingNextJob(
        for: .preferring, { Task.detached(operation: body) })
    else {
      return "the jobs of a task that prefers an executor"
    }
    let id = taskID(of: task)
    var next: UnownedJob? = task
    var kinds: [Bool] = []
    while let job = next {
      let drain = ActorDrain(job)
      if let drain, drain.actor != ObjectIdentifier(target) || drain.firstTask != id {
        _ = ThreadContext.capturingNextJob { RuntimeHooks.run(job, on: .pool) }
        return "the queue of an actor"
      }
      if drain == nil, taskID(of: job) != id { return "what a job is" }
      kinds.append(drain != nil)
      next = ThreadContext.capturingNextJob { RuntimeHooks.run(job, on: .pool) }
    }
    return kinds.starts(with: [false, true, false]) ? nil : "hops to actors and back"
  }
}
