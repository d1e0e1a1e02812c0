/// Runs one test's tasks, one job at a time and in a known order, and so knows when nothing of the
/// test can run.
///
/// **Idle** is defined here, by three facts, and nowhere else: no job is ready (`ready` is empty),
/// no job is running that the scheduler started (they run in `pump`, one after another, and `pump`
/// asks after each), and none that it did not start (`visitors` is 0). Only then does it turn to
/// what waits for idleness: first to those who only want to know (`settles`), then to the oldest
/// request that moves time (`requests`).
///
/// A scheduler has no thread of its own. When there is something to do, a thread of the pool or the
/// main thread runs `pump` until there is not.
final class Scheduler: Sendable {
  /// Guards everything below, and the time and sleeps of the scheduler's clocks.
  ///
  /// No job runs, no continuation is resumed and no observer is called while it is held. Comparing
  /// two instants is all of a user's code that may run under it.
  let lock = Lock()

  /// The jobs that could run now.
  nonisolated(unsafe) private var ready = JobQueue()
  /// Whether a thread runs `pump`, or has been asked to. There is at most one at a time.
  nonisolated(unsafe) private var isPumping = false
  /// The number of running jobs that the scheduler did not start; while there are any, it starts
  /// none.
  nonisolated(unsafe) private var visitors = 0
  /// Who waits to hear that the scheduler is idle; time does not move for them.
  nonisolated(unsafe) private var settles = RequestQueue()
  /// Who wants time to move, in order of arrival; the first is under way.
  nonisolated(unsafe) private var requests = RequestQueue()
  /// Who is told what the scheduler does; `nil` nearly always.
  nonisolated(unsafe) private var observer: SchedulerObserver?

  private let order = SchedulingOrder()

  deinit { lock.destroy() }

  // MARK: - Which scheduler

  /// The scheduler for a clock that is made now: the current task's, or the process-wide one
  /// outside any task.
  ///
  /// The clock must give it back with `release()`.
  static func retainForNewClock() -> Scheduler {
    RuntimeDoor.open()
    let ownership = TaskOwnership.shared
    guard let task = RuntimeDoor.currentTaskID else {
      return ownership.retainProcessWide { Scheduler() }
    }
    let known = ThreadContext.current?.pointee.scheduler ?? ownership.owner(of: task)
    let scheduler = known ?? Scheduler()
    ownership.retain(scheduler, watermark: RuntimeDoor.newestTaskID())
    scheduler.admitCurrentTask()
    return scheduler
  }

  func release() {
    TaskOwnership.shared.release(self)
  }

  /// Makes the current task the scheduler's, if no other test owns it, and says whether it is the
  /// scheduler's now.
  ///
  /// If its job was not started by the scheduler, it is a visitor until it ends. O(1).
  @discardableResult
  func admitCurrentTask() -> Bool {
    let context = ThreadContext.current
    guard let task = RuntimeDoor.currentTaskID else { return false }
    if let context, context.pointee.scheduler === self {
      // Everything that comes through the door is registered there. What does not is a task that
      // has not been suspended yet (`Task.immediate`) or that was only ever in an actor's queue.
      return context.pointee.taskID == task || TaskOwnership.shared.claim(task, for: self)
    }
    guard TaskOwnership.shared.claim(task, for: self) else { return false }
    guard context?.pointee.scheduler == nil else { return true }
    if let context {
      context.pointee.scheduler = self
      context.pointee.isVisit = true
      lock.withLock { visitors += 1 }
    } else if RuntimeDoor.isOnMainQueue {
      // A job that began before the door was opened. The main thread's next turn comes when it has
      // ended.
      lock.withLock { visitors += 1 }
      RuntimeDoor.afterCurrentMainJob { self.visitorLeft(on: .main) }
    }
    return true
  }

  /// A job that the scheduler did not start has ended; goes on with the others on the thread that
  /// it leaves behind.
  func visitorLeft(on lane: Lane) {
    let shouldPump = lock.withLock {
      visitors -= 1
      return claimPump()
    }
    if shouldPump { pump(on: lane) }
  }

  // MARK: - Work

  /// Takes a job that has become ready. Amortized O(1).
  func enqueue(_ job: UnownedJob, taskID: UInt64, lane: Lane) {
    let start: Lane? = lock.withLock {
      ready.append(JobQueue.Entry(job: job, taskID: taskID, lane: lane))
      return claimPump() ? nextLane : nil
    }
    if let start { startPump(on: start) }
  }

  /// Takes a request that moves time, for when the scheduler is idle and all earlier ones have been
  /// fulfilled. O(1).
  func enqueue(_ request: any IdleRequest) {
    let start: Lane? = lock.withLock {
      requests.append(request)
      return claimPump() ? nextLane : nil
    }
    if let start { startPump(on: start) }
  }

  /// Takes a request that does not move time, for the next time the scheduler is idle. O(1).
  func enqueueSettle(_ request: any IdleRequest) {
    let start: Lane? = lock.withLock {
      settles.append(request)
      return claimPump() ? nextLane : nil
    }
    if let start { startPump(on: start) }
  }

  /// Says whether the caller must see to it that `pump` runs. Called with the lock held.
  private func claimPump() -> Bool {
    guard !isPumping, visitors == 0 else { return false }
    guard !ready.isEmpty || !settles.isEmpty || !requests.isEmpty else { return false }
    isPumping = true
    return true
  }

  /// Where the next job wants to run. Called with the lock held.
  private var nextLane: Lane {
    ready.isEmpty ? .pool : ready[order.nextJob(among: ready.count)].lane
  }

  private func startPump(on lane: Lane) {
    RuntimeDoor.startThread(on: lane) { self.pump(on: lane) }
  }

  // MARK: - The pump

  /// What `pump` does next.
  private enum Turn {
    case run(JobQueue.Entry)
    case step(IdleStep)
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
  private func pump(on lane: Lane) {
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
          RuntimeDoor.run(entry.job, on: entry.lane)
          context.pointee.taskID = 0
        case .step(let step):
          context.pointee.isWaking = step.isOwn
          step.resume()
          context.pointee.isWaking = false
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
    guard visitors == 0 else {
      isPumping = false
      return .rest
    }
    if !ready.isEmpty {
      let position = order.nextJob(among: ready.count)
      let wanted = ready[position].lane
      if wanted == .main ? lane != .main : !mayStay { return .move(to: wanted) }
      return .run(ready.remove(at: position))
    }
    if let request = settles.first {
      let step = request.step()
      if step.isLast { settles.removeFirst() }
      return .step(step)
    }
    if let request = requests.first {
      let step = request.step()
      if step.isLast { requests.removeFirst() }
      return .step(step)
    }
    isPumping = false
    return .rest
  }

  // MARK: - Observation

  /// Tells `observer` from now on what the scheduler and its clocks do.
  func observe(with observer: SchedulerObserver?) {
    lock.withLock { self.observer = observer }
  }
}
