import ClocksSupport
import Synchronization

/// The running jobs that may be executing an external task: actor drains, and jobs of unowned tasks.
///
/// A job begins and ends without a lock, because most jobs of a process may belong to no test. Each thread has records
/// of its own, one for each job that runs within another one. Only the thread writes them, and any thread may read
/// them. Records are never freed: when a thread ends, another thread uses its records. O(threads) below means the
/// number of records: the most jobs, nested ones included, that threads ran at one time.
enum RunningJobs {
  struct Record: ~Copyable {
    /// The epoch in which the job began; 0 if no job runs.
    let epoch = Atomic<UInt64>(0)
    /// The only task that runs in the job; 0 for an actor drain.
    fileprivate let task = Atomic<UInt64>(0)
    /// The thread that uses the record; `nil` if none does. Written under `lock`, and read under it or by the thread.
    fileprivate(set) var thread: ThreadState.Reference!
    /// The runtime's variable for the task that the thread runs. Written under `lock`.
    ///
    /// `nil` if no thread uses the record, and where the variable cannot be read.
    fileprivate var runningTask: CurrentTaskSlot?
    /// The next of all records.
    fileprivate let next: RunningJob?
    /// The next unused record of the same thread, or of no thread.
    fileprivate var nextUnused: RunningJob?
    /// Uninitialized memory for the context of the job.
    let context: UnsafeMutablePointer<ThreadContext>
  }

  /// Guards the variables below, and the tasks of `ExternalTaskRegistry`. Rank `externalTasks`.
  ///
  /// A thread also takes the lock when it ends. So while the lock is held, each `runningTask` is valid.
  static let lock = Lock(.externalTasks)
  nonisolated(unsafe) private static var first: RunningJob?
  nonisolated(unsafe) private static var withoutThread: RunningJob?

  /// The number of the latest epoch.
  private static let newestEpoch = Atomic<UInt64>(1)

  /// Notes that a job of `task` begins on the current thread, or an actor drain if `task` is 0. O(1).
  @_transparent
  static func begin(of task: UInt64, on thread: ThreadState.Reference) -> RunningJob {
    prepareRecord(for: thread)
    let record = thread.pointee.unusedRecords!
    thread.pointee.unusedRecords = record.pointee.nextUnused
    record.pointee.task.store(task, ordering: .relaxed)
    record.pointee.epoch.store(newestEpoch.load(ordering: .relaxed), ordering: .relaxed)
    // Publishes the record before the job changes the status of a task.
    atomicMemoryFence(ordering: .releasing)
    return record
  }

  /// Notes the end of the job that the current thread began last.
  @_transparent
  static func end(_ record: RunningJob) {
    record.pointee.epoch.store(0, ordering: .sequentiallyConsistent)
    let thread = record.pointee.thread!
    record.pointee.nextUnused = thread.pointee.unusedRecords
    thread.pointee.unusedRecords = record
  }

  /// The task of a job that runs on the current thread.
  static func task(of job: RunningJob) -> UInt64 { job.pointee.task.load(ordering: .relaxed) }

  /// Makes sure that the next job on the thread finds an unused record.
  @_transparent
  static func prepareRecord(for thread: ThreadState.Reference) {
    if thread.pointee.unusedRecords == nil { thread.pointee.unusedRecords = addRecord(to: thread) }
  }

  @inline(never)
  private static func addRecord(to thread: ThreadState.Reference) -> RunningJob {
    let runningTask = CurrentTaskSlot.ofThread
    return lock.withLock {
      let record = takeRecord()
      record.pointee.thread = thread
      record.pointee.runningTask = runningTask
      record.pointee.nextUnused = nil
      return record
    }
  }

  /// Returns a record that no thread uses. Requires `lock`.
  private static func takeRecord() -> RunningJob {
    if let found = withoutThread {
      withoutThread = found.pointee.nextUnused
      return found
    }
    let record = RunningJob.allocate(capacity: 1)
    record.initialize(to: Record(next: first, context: .allocate(capacity: 1)))
    first = record
    return record
  }

  /// Returns a record, which no thread uses, for a job of `task` that began without one on another thread.
  ///
  /// - Parameter task: The only task that runs in the job; 0 for an actor drain.
  static func noteBegun(_ task: UInt64) -> RunningJob {
    lock.withLock {
      let record = takeRecord()
      record.pointee.task.store(task, ordering: .relaxed)
      record.pointee.epoch.store(newestEpoch.load(ordering: .relaxed), ordering: .releasing)
      return record
    }
  }

  /// Notes the end of a job for which `noteBegun` returned the record.
  static func noteEnded(_ record: RunningJob) {
    lock.withLock {
      record.pointee.epoch.store(0, ordering: .releasing)
      record.pointee.nextUnused = withoutThread
      withoutThread = record
    }
  }

  /// Lets other threads use the records of a thread that ends. A job that has not ended, because it ends its thread, is
  /// over. O(threads).
  static func threadEnds(_ thread: ThreadState.Reference) {
    lock.withLock {
      var place = first
      while let record = place {
        place = record.pointee.next
        guard record.pointee.thread == thread else { continue }
        record.pointee.epoch.store(0, ordering: .releasing)
        record.pointee.thread = nil
        record.pointee.runningTask = nil
        record.pointee.nextUnused = withoutThread
        withoutThread = record
      }
    }
  }

  // MARK: - Questions

  /// Begins an epoch. The jobs that run now began in earlier ones.
  static func beginEpoch() -> UInt64 {
    newestEpoch.add(1, ordering: .sequentiallyConsistent).newValue
  }

  /// Whether a job runs. Requires `lock`. O(threads).
  static var isAny: Bool { isAny(before: .max) }

  /// Whether a job runs that began before an epoch. Requires `lock`. O(threads).
  static func isAny(before epoch: UInt64) -> Bool {
    // The records are read only after the statuses that the caller has read.
    atomicMemoryFence(ordering: .acquiring)
    var place = first
    while let job = place {
      let began = job.pointee.epoch.load(ordering: .acquiring)
      if began != 0, began < epoch { return true }
      place = job.pointee.next
    }
    return false
  }

  /// Whether a job of the task runs, other than an actor drain. Requires `lock`. O(threads).
  static func isAny(of task: UInt64) -> Bool {
    var place = first
    while let job = place {
      if job.pointee.epoch.load(ordering: .acquiring) != 0, self.task(of: job) == task {
        return true
      }
      place = job.pointee.next
    }
    return false
  }

  /// A running job.
  struct Found {
    fileprivate let record: RunningJob
    fileprivate let epoch: UInt64

    /// Whether the job still runs, and may run the task. Requires `lock`.
    func mayStillRun(_ task: UnownedJob) -> Bool {
      record.pointee.epoch.load(ordering: .acquiring) == epoch && mayRun(task, in: record)
    }
  }

  /// Returns a job that began before an epoch and may run the task, whose status was read before. Requires `lock`.
  /// O(threads).
  static func job(thatMayRun task: UnownedJob, before epoch: UInt64) -> Found? {
    // The records, and the threads' current tasks, are read only after the task's status.
    atomicMemoryFence(ordering: .acquiring)
    var place = first
    while let job = place {
      let began = job.pointee.epoch.load(ordering: .acquiring)
      if began != 0, began < epoch, mayRun(task, in: job) {
        return Found(record: job, epoch: began)
      }
      place = job.pointee.next
    }
    return nil
  }

  private static func mayRun(_ task: UnownedJob, in job: RunningJob) -> Bool {
    let only = job.pointee.task.load(ordering: .relaxed)
    return only == 0
      ? job.pointee.runningTask?.isAnother(than: task) != true
      : only == taskID(of: task)
  }
}

typealias RunningJob = UnsafeMutablePointer<RunningJobs.Record>
