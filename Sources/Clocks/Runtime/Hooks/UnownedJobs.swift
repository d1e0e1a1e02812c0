import ClocksSupport
import Synchronization

#if os(Linux)
  internal import CDispatch
#endif

/// The unowned jobs of one priority, which run on a queue like the runtime's own; or those of the main thread.
///
/// The queue runs at most as many jobs together as there are cores. With more threads, a test that blocks its
/// thread would affect other tests differently than without this package.
///
/// Each block on the queue runs the job that is first when the block begins. So once the queue is known to be
/// blocked, other threads can run the jobs.
///
/// The `taskID` of such a `ReadyJob` is the task that `TestCaseMembership` has noted as having yielded; else 0.
final class UnownedJobs: @unchecked Sendable {
  private static let highestPriority = 33
  /// The queues of the pool by priority, and then the queue of the main thread.
  ///
  /// Not an `Array`, because each job reads this, and a debug build would call generic functions.
  nonisolated(unsafe) private static let all: UnsafeMutablePointer<UnownedJobs> = {
    let all = UnsafeMutablePointer<UnownedJobs>.allocate(capacity: highestPriority + 2)
    for priority in 0...highestPriority {
      (all + priority).initialize(to: UnownedJobs(priority: priority))
    }
    (all + highestPriority + 1).initialize(
      to: UnownedJobs(priority: QualityOfService.default.rawValue, InternalDispatch.mainQueue))
    return all
  }()

  private static var ofMainThread: UnownedJobs { all[highestPriority + 1] }

  private static func of(_ job: ReadyJob) -> UnownedJobs {
    if case .main = job.executor { return ofMainThread }
    let priority = Int(job.job.priority.rawValue)
    return all[priority < highestPriority ? priority : highestPriority]
  }

  static var ofPool: UnsafeMutableBufferPointer<UnownedJobs> {
    UnsafeMutableBufferPointer(start: all, count: highestPriority + 1)
  }

  static var isAnyWaiting: Bool {
    ofPool.contains { jobs in jobs.lock.withLock { !jobs.waiting.isEmpty } }
  }

  /// Lets `ExtraThreads` run the jobs, also those that wait now.
  func useMoreThreads() {
    let count = lock.withLock {
      isQueueBlocked = true
      return waiting.count
    }
    for _ in 0..<count { startThread(isQueueBlocked: true) }
  }

  /// Runs `body` once each unowned job that now runs, or waits for a thread, has ended.
  ///
  /// Does not wait for a job that a thread runs directly after another one: such a job never waits for a thread.
  static func afterPresentJobs(_ body: @escaping @Sendable () -> Void) {
    let ends = CountedEnds(count: highestPriority + 2, body)
    for jobs in ofPool { jobs.wait(for: ends) }
    ofMainThread.wait(for: ends)
  }

  private typealias Awaited = (last: UInt64, missing: Int, ends: CountedEnds)

  final class CountedEnds: Sendable {
    private let missing: Atomic<Int>
    private let body: @Sendable () -> Void

    init(count: Int, _ body: @escaping @Sendable () -> Void) {
      missing = Atomic(count)
      self.body = body
    }

    func count() {
      if missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { body() }
    }
  }

  /// Runs `body` once all schedulers, jobs and serial queues of default priority that now wait for a thread have got
  /// one.
  static func afterReadyWork(_ body: @escaping @Sendable () -> Void) {
    RuntimeHooks.startThread(on: .pool) {
      let submit: @Sendable () -> Void = {
        // Most serial queues of a process share 255 threads, which are those of this queue.
        InternalDispatch.submit(body, to: InternalDispatch.globalQueue(.default, isBlocked: true))
      }
      // If the flag is set after this, the block may never begin. Then the watchdog submits another one.
      if RuntimeHooks.isPoolBlocked.load(ordering: .acquiring) {
        ExtraThreads.submit(submit, .default)
      } else {
        InternalDispatch.submit(submit, to: all[Int(TaskPriority.medium.rawValue)].queue)
      }
    }
  }

  private let priority: Int
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  @exclusivity(unchecked) private var waiting = JobQueue()
  @exclusivity(unchecked) private var isQueueBlocked = false
  /// Counts the jobs that have begun. A job's number is the value of this count when it begins.
  @exclusivity(unchecked) private var begun: UInt64 = 0
  /// The number of jobs that have begun and not ended.
  @exclusivity(unchecked) private var running = 0
  /// The waits of `afterPresentJobs`. Each waits for `missing` more jobs, all with numbers up to `last`.
  @exclusivity(unchecked) private var awaited: [Awaited] = []
  private let queue: InternalDispatch.Queue

  init(priority: Int, _ queue: InternalDispatch.Queue? = nil) {
    self.priority = priority
    self.queue = queue ?? InternalDispatch.cooperativeQueue(priority)
  }

  static func submit(_ job: ReadyJob) { of(job).submit(job) }

  func submit(_ job: ReadyJob) {
    let isQueueBlocked = lock.withLock {
      waiting.append(job)
      return self.isQueueBlocked
    }
    startThread(isQueueBlocked: isQueueBlocked)
  }

  private func startThread(isQueueBlocked: Bool) {
    guard !isQueueBlocked else {
      return ExtraThreads.submit({ self.runFirst() }, QualityOfService(priority))
    }
    #if os(Linux)
      dispatch_async_f(queue, Unmanaged.passUnretained(self).toOpaque()) {
        Unmanaged<UnownedJobs>.fromOpaque($0!)._withUnsafeGuaranteedRef { $0.runFirst() }
      }
    #else
      InternalDispatch.submit({ self.runFirst() }, to: queue)
    #endif
  }

  private func runFirst() {
    lock.lock()
    // Another thread may have run the job, because the queue was blocked.
    guard !waiting.isEmpty else { return lock.unlock() }
    begun += 1
    let number = begun
    running += 1
    let first = waiting.remove(at: 0)
    lock.unlock()
    var job = RuntimeHooks.runUnowned(first)
    end(number)
    var count = 0
    while let next = job {
      count += 1
      guard count <= Self.mostInTurn, Self.of(next) === self, lock.withLock({ waiting.isEmpty })
      else { return Self.submit(next) }
      job = RuntimeHooks.runUnowned(next)
    }
  }

  private func end(_ number: UInt64) {
    lock.lock()
    running -= 1
    let over = awaited.count > 0 ? takeOver(endOf: number) : nil
    lock.unlock()
    if let over { for ends in over { ends.count() } }
  }

  func wait(for ends: CountedEnds) {
    let missing = lock.withLock {
      let missing = running + waiting.count
      guard missing > 0 else { return missing }
      awaited.append((begun + UInt64(waiting.count), missing, ends))
      return missing
    }
    if missing == 0 { ends.count() }
  }

  /// Counts the end of a job for all waits in `awaited`. Removes and returns those that are over. Requires the lock.
  private func takeOver(endOf number: UInt64) -> [CountedEnds] {
    for index in awaited.indices where number <= awaited[index].last { awaited[index].missing -= 1 }
    let over = awaited.filter { $0.missing == 0 }
    awaited.removeAll { $0.missing == 0 }
    return over.map(\.ends)
  }

  /// The most jobs that a thread runs one after another because each has made the next one ready.
  private static let mostInTurn = 16
}

extension RuntimeHooks {
  /// Runs an unowned job on the current thread.
  ///
  /// While the job runs, its task may create a clock and so be adopted. Then the task's owner waits for the end
  /// of the job.
  ///
  /// - Returns: A job that the thread may run next; only if the executor is the pool.
  static func runUnowned(_ ready: ReadyJob) -> ReadyJob? {
    let (job, executor) = (ready.job, ready.executor)
    let id = taskID(of: job)
    var context = ThreadContext(taskID: id, isInJob: true)
    if let owner = TestCaseMembership.adopter(of: id) {
      owner.enqueue(ReadyJob(job: job, taskID: id, executor: executor), isNew: false)
    } else if id == 0 || !TestCaseMembership.isOn {
      context.run { _ in run(job, id, on: executor) }
      if ready.taskID != 0 { TestCaseMembership.yieldEnded(of: ready.taskID) }
    } else {
      // The task may be adopted while the job runs. The task's status does not prove that no thread runs the task:
      // thread A marks the task as suspended, and still continues it if thread B resumes it in that moment.
      let running = ExternalTaskRegistry.beginJob(of: id)
      // The task is retained until its job has ended and its status was read.
      let task = UnownedTask(job: job).retainedIfReadable
      context.run { _ in run(job, on: executor) }
      if let task, TaskStatus(of: task.job).isOver { TestCaseMembership.letGo(ofEnded: id) }
      ExternalTaskRegistry.endJob(running)
    }
    guard ready.isCounted || context.ownersAwaitingEnd.count > 0 else { return nil }
    return runJobs(of: context.ownersAwaitingEnd, after: ready)
  }

  /// Runs jobs of the owners that waited for the end of an unowned job. Returns a job as `runUnowned` does.
  @inline(never)
  private static func runJobs(of owners: [TaskOwner], after ready: ReadyJob) -> ReadyJob? {
    let waiting = ready.isCounted ? TaskOwnership.shared.unownedJobHasRun() : nil
    if !owners.isEmpty { ExternalTaskRegistry.look() }
    let owners = owners + (waiting.map { [$0] } ?? [])
    for owner in owners.dropLast() { owner.externallyStartedJobEnded(on: nil) }
    // The thread is free now, so it continues with the jobs of the last owner.
    let kept = owners.last?.externallyStartedJobEnded(on: ready.executor)
    guard ready.executor != .pool, let job = kept else { return kept }
    UnownedJobs.submit(job)
    return nil
  }
}
