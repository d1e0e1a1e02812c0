import Testing

@testable import Clocks

/// Two runs of the same test execute the same jobs in the same order.
@Suite struct JobOrderTests {
  /// The jobs of a run, each as the number that its task has in the order of appearance, and its
  /// lane; so runs can be compared although tasks have other ids in each.
  private final class JobLog: SchedulerObserver {
    private let jobs = Log<(task: UInt64, lane: Lane)>()

    func jobWillRun(task: UInt64, lane: Lane) { jobs.add((task, lane)) }

    var all: [String] {
      var numbers: [UInt64: Int] = [0: 0]
      return jobs.all.map { job in
        let number = numbers[job.task] ?? numbers.count
        numbers[job.task] = number
        return "\(number) \(job.lane)"
      }
    }
  }

  private static let firstRun = Log<[String]>()

  @Test(arguments: 0..<200) func everyRunExecutesTheSameJobs(_ run: Int) async throws {
    let clock = TestClock()
    let jobs = JobLog()
    clock.scheduler.observe(with: jobs)
    let counter = Counter()
    let (stream, source) = AsyncStream<Int>.makeStream()

    for number in 0..<10 {
      Task {
        for _ in 0..<number { await Task.yield() }
        try await clock.sleep(for: .seconds(number % 3))
        source.yield(number)
        await counter.increment()
      }
    }
    Task.detached {
      for await value in stream {
        await withTaskGroup { group in
          for _ in 0..<(value % 4) {
            group.addTask { await counter.incrementSlowly(yields: value) }
          }
        }
        await Task { @MainActor in await Task.yield() }.value
      }
    }
    Task.immediate {
      try await clock.sleep(for: .seconds(2))
      async let left: Void = counter.incrementSlowly(yields: 3)
      async let right: Void = counter.incrementSlowly(yields: 2)
      _ = await (left, right)
    }
    for _ in 0..<3 { await clock.advance(by: .seconds(1)) }
    source.finish()
    await clock.settle()
    clock.scheduler.observe(with: nil)

    let log = jobs.all
    #expect(log.count > 100)
    Self.firstRun.add(log)
    #expect(log == Self.firstRun.all[0])
  }
}
