/// The loop that runs a test's jobs, and what it does when there is none.
extension Scheduler {
  /// What `pump` does next.
  private enum Turn {
    case run(JobQueue.Entry)
    case resume(UnsafeContinuation<Void, any Error>, isOwn: Bool)
    case finish(UnsafeContinuation<Void, Never>, isOwn: Bool)
    case cancel([RuntimeDoor.TaskReference])
    case letGo([RuntimeDoor.TaskReference])
    case move(to: Lane)
    case rest
  }

  /// The number of jobs after which the pump goes to the end of its thread's queue, so that other
  /// tests get their turn.
  private static let jobsPerTurn = 1_000

  /// The number of pool jobs that the main thread runs before it leaves them to the pool.
  ///
  /// Once the pump is on the main thread it stays for a while: a test that hops to the main actor
  /// and back would otherwise change threads at every step.
  private static let poolJobsPerMainTurn = 64

  /// Runs what is ready until nothing is, then what waits for that, until there is nothing to do at
  /// all.
  func pump(on lane: Lane) {
    _ = ThreadContext.run(ThreadContext(scheduler: self)) { context in
      var jobs = 0
      var poolJobsOnMain = 0
      while true {
        let mayStay = jobs < Self.jobsPerTurn && poolJobsOnMain < Self.poolJobsPerMainTurn
        let (turn, observer) = lock.withLock {
          (nextTurn(on: lane, mayStay: mayStay), self.observer)
        }
        switch turn {
        case .run(let entry):
          jobs += 1
          if lane == .main { poolJobsOnMain = entry.lane == .main ? 0 : poolJobsOnMain + 1 }
          if let observer { observer.jobWillRun(task: entry.taskID, lane: entry.lane) }
          context.pointee.taskID = entry.taskID
          context.pointee.isInJob = true
          RuntimeDoor.run(entry.job, on: entry.lane)
          context.pointee.isInJob = false
          context.pointee.taskID = 0
          if !context.pointee.visited.isEmpty {
            for scheduler in context.pointee.visited { scheduler.visitorLeft(on: nil) }
            context.pointee.visited = []
          }
        case .resume(let continuation, let isOwn):
          context.pointee.isWaking = isOwn
          continuation.resume()
          context.pointee.isWaking = false
        case .finish(let continuation, let isOwn):
          context.pointee.isWaking = isOwn
          continuation.resume()
          context.pointee.isWaking = false
        case .cancel(let tasks):
          for task in tasks { task.cancel() }
        case .letGo(let tasks):
          for task in tasks { task.letGo() }
        case .move(let lane):
          startPump(on: lane)
          return
        case .rest:
          return
        }
      }
    }
  }

  /// Decides what the pump does next. Called with the lock held.
  private func nextTurn(on lane: Lane, mayStay: Bool) -> Turn {
    runningJob = nil
    guard visitors == 0 else {
      isPumping = false
      return .rest
    }
    if let runtimeSleeps {
      let tasks = runtimeSleeps.jobHasEnded()
      if !tasks.isEmpty { return .letGo(tasks) }
    }
    if !ready.isEmpty {
      let position = order.nextJob(among: ready.count)
      let wanted = ready[position].lane
      if !mayStay || (wanted == .main && lane != .main) { return .move(to: wanted) }
      let entry = ready.remove(at: position)
      jobsWithoutWake += 1
      if entry.taskID == rootTask, rootTask != 0 { wakes = 0 }
      // Every other job of a task that yields is an anonymous one of the runtime's: wait for the
      // one that has a name, unless there is none.
      if jobsWithoutWake > limits.jobs, entry.taskID != 0 || jobsWithoutWake > 2 * limits.jobs,
        let turn = abandon(.jobs(limits.jobs), at: entry)
      {
        ready.append(entry)
        return turn
      }
      begin(entry)
      return .run(entry)
    }
    if !followers.isEmpty {
      for follower in followers where follower.knownArrivals != arrivals {
        follower.mustLook = true
      }
      if let behind = followers.firstIndex(where: \.isBehind) {
        return turn(for: step(ofFollowerAt: behind)) {}
      }
    }
    if let request = settles.first {
      return turn(for: request.step()) { settles.removeFirst() }
    }
    if let request = requests.first {
      if wakes >= limits.wakes, let turn = abandon(.wakes(limits.wakes), at: nil) { return turn }
      return turn(for: request.step()) { requests.removeFirst() }
    }
    let mayWaitForPacemaker = pacemaker?.movesTime == true
    if let free = followers.firstIndex(where: { !($0.isPaced && mayWaitForPacemaker) }) {
      return turn(for: step(ofFollowerAt: free)) {}
    }
    if pacemaker != nil, wakes >= limits.wakes, let turn = abandon(.wakes(limits.wakes), at: nil) {
      return turn
    }
    if let pacemaker, let step = pacemaker.step(self) {
      return turn(for: step) {}
    }
    isPumping = false
    return .rest
  }

  /// The next step for a follower, who leaves with the last one. Called with the lock held.
  func step(ofFollowerAt index: Int) -> IdleStep {
    let step = followers[index].step()
    if case .finish = step { followers.remove(at: index) }
    return step
  }

  /// What carries out a step of an idle scheduler; `remove` takes its request away if it was the
  /// last. Called with the lock held.
  private func turn(for step: IdleStep, remove: () -> Void) -> Turn {
    jobsWithoutWake = 0
    switch step {
    case .wake(let continuation, let isOwn):
      wakes += 1
      return .resume(continuation, isOwn: isOwn)
    case .run(let job):
      wakes += 1
      let entry = JobQueue.Entry(job: job, taskID: RuntimeDoor.taskID(of: job), lane: .pool)
      begin(entry)
      return .run(entry)
    case .finish(let continuation, let isOwn):
      wakes = 0
      remove()
      return .finish(continuation, isOwn: isOwn)
    case .cancel(let tasks):
      return .cancel(tasks)
    }
  }

  /// Notes that a job is about to run. Called with the lock held.
  @inline(__always)
  private func begin(_ entry: JobQueue.Entry) {
    jobs &+= 1
    runningJob = (jobs, entry.taskID)
  }

  /// Gives up on whoever waits for the scheduler to be idle, because it will never be. Called with
  /// the lock held.
  private func abandon(_ reason: Runaway, at entry: JobQueue.Entry?) -> Turn? {
    var reason = reason
    if case .jobs(let count, _) = reason, let entry { reason = .jobs(count, task: entry.taskID) }
    jobsWithoutWake = 0
    wakes = 0
    if let request = settles.first {
      return turn(for: request.abandon(reason)) { settles.removeFirst() }
    }
    if let request = requests.first {
      return turn(for: request.abandon(reason)) { requests.removeFirst() }
    }
    if let follower = followers.first {
      followers.removeFirst()
      return turn(for: follower.abandon(reason)) {}
    }
    guard let pacemaker else { return nil }
    let culprit = entry.flatMap { $0.taskID == 0 ? nil : RuntimeDoor.TaskReference(job: $0.job) }
    pacemaker.abandon(reason, culprit)
    return pacemaker.step(self).map { turn(for: $0) {} }
  }
}
