#if os(Linux) && canImport(Glibc)
  import Synchronization
  import Testing

  @testable import Clocks

  /// Counts the blocks and the jobs that keep its time from jumping.
  final class CountingOwner: TaskOwner, PausableOwner, @unchecked Sendable {
    private let blocks = Mutex((newest: UInt64(0), open: Set<UInt64>()))
    private let jobs = Atomic(0)
    private let stops = Mutex([BlockQueue: Int]())
    var open: Set<UInt64> { blocks.withLock { $0.open } }
    var runningJobs: Int { jobs.load(ordering: .relaxed) }
    /// For each queue, the number of things that keep its blocks from beginning; `nil` for a queue that never had any.
    func stops(of queue: BlockQueue) -> Int? { stops.withLock { $0[queue] } }

    override func workBegan(on queue: BlockQueue, isBarrier: Bool = false) -> UInt64 {
      blocks.withLock {
        $0.newest += 1
        $0.open.insert($0.newest)
        return $0.newest
      }
    }

    override func workEnded(_ number: UInt64) {
      let wasOpen = blocks.withLock { $0.open.remove(number) != nil }
      #expect(wasOpen, "block \(number) has ended twice")
    }

    var virtualNow: Duration { .zero }
    var hasAbandonedBlock: Bool { false }
    var hasReadyWork: Bool { false }
    /// The sleeps that are pending, besides the timed callbacks.
    let sleeps = Atomic(0)
    private let callbacks = Atomic(0)
    var pendingCount: Int {
      sleeps.load(ordering: .relaxed) + callbacks.load(ordering: .relaxed)
    }
    override func enqueue(_ callback: TimedCallback, after delay: Duration) -> Bool {
      callbacks.add(1, ordering: .relaxed)
      return true
    }
    override func remove(_ callback: TimedCallback) { callbacks.subtract(1, ordering: .relaxed) }
    var pausedWaits: PausedWaits { .all }
    func isOnMain(_ number: Int) -> Bool { false }
    func pause(_ job: PausedJob, _ context: UnsafeMutablePointer<ThreadContext>?) {
      jobs.subtract(1, ordering: .relaxed)
    }
    func resume(_ job: PausedJob) { jobBegins() }
    func jobBegins() { jobs.add(1, ordering: .relaxed) }
    /// How often something has begun to keep time from jumping.
    let holds = Atomic(0)
    /// How many of these keep time from jumping now.
    let openHolds = Atomic(0)
    func beginHold(isUnlimited: Bool) {
      holds.add(1, ordering: .relaxed)
      openHolds.add(1, ordering: .relaxed)
    }
    func endHold(isUnlimited: Bool) { openHolds.subtract(1, ordering: .relaxed) }
    override func externallyStartedJobEnded(on executor: ExecutorKind?) -> ReadyJob? {
      jobs.subtract(1, ordering: .relaxed)
      return nil
    }
    /// Is called when something begins to keep a queue's blocks from beginning, or no longer does.
    var stopChanges: () -> Void = {}
    override func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {
      stopChanges()
      stops.withLock { $0[queue, default: 0] += change }
    }
  }
#endif
