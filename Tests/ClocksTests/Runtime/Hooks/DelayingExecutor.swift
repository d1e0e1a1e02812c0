#if os(Linux) && compiler(>=6.3)
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  /// An executor that delays each job.
  final class DelayingExecutor: SerialExecutor, TaskExecutor {
    enum Way: CaseIterable { case afterAWhile, atAnInstant }

    private let delay: Duration
    private let way: Way

    init(by delay: Duration, _ way: Way = .afterAWhile) {
      self.delay = delay
      self.way = way
    }

    func enqueue(_ job: consuming ExecutorJob) {
      guard let executor = Task.defaultExecutor as? any SchedulingExecutor else { return }
      let clock = ContinuousClock()
      switch way {
      case .afterAWhile: executor.enqueue(job, after: delay, tolerance: nil, clock: clock)
      case .atAnInstant: executor.enqueue(job, at: clock.now + delay, tolerance: nil, clock: clock)
      }
    }
  }

  /// An actor whose jobs are delayed.
  actor DelayedActor {
    private let executor: DelayingExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(by delay: Duration, _ way: DelayingExecutor.Way) {
      executor = DelayingExecutor(by: delay, way)
    }

    private var visits = 0

    /// Returns the number of visits. Without state the optimizer would elide the hop.
    func visit() -> Int {
      visits += 1
      return visits
    }
  }
#endif
