#if os(Linux) && canImport(Glibc)
  import Synchronization
  import Testing

  @testable import Clocks

  /// Counts the blocks and the jobs that keep its time from jumping.
  final class CountingOwner: TaskOwner, PausableOwner, @unchecked Sendable {
    private let blocks = Mutex((newest: UInt64(0), open: Set<UInt64>()))
    private let jobs = Atomic(0)
    var open: Set<UInt64> { blocks.withLock { $0.open } }
    var runningJobs: Int { jobs.load(ordering: .relaxed) }

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
    var pendingCount: Int { 0 }
    var pausedWaits: PausedWaits { .all }
    func pause(_ job: PausedJob, _ context: UnsafeMutablePointer<ThreadContext>?) {
      jobs.subtract(1, ordering: .relaxed)
    }
    func resume(_ job: PausedJob) { jobBegins() }
    func jobBegins() { jobs.add(1, ordering: .relaxed) }
    func beginShortHold() {}
    func endShortHold() {}
    func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {}
  }

  @Suite struct ThreadWaitsTests {
    private let owner = CountingOwner(isVirtual: true)

    /// A job that holds its thread counts once: as a job, as a block, or, while it waits, not at all.
    @Test func aParallelJobIsABlockUntilItWaitsOrEnds() {
      owner.jobBegins()
      let waits = ThreadWaits(owner, .method)
      for isFirst in [true, false] {
        #expect(waits.becomeParallel() == isFirst)
        #expect(owner.open == [1] && owner.runningJobs == 0)
      }
      waits.paused { #expect(owner.open.isEmpty && owner.runningJobs == 0) }
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
      #expect(waits.becomeParallel())
      #expect(owner.open == [2] && owner.runningJobs == 0)
      waits.jobEnds()
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
      #expect(!waits.becomeParallel())
      #expect(owner.open.isEmpty && owner.runningJobs == 1)
    }
  }
#endif
