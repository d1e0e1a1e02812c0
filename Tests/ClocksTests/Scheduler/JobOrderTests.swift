import Testing

@testable import Clocks

/// Two runs of the same test execute the same jobs in the same order.
@Suite struct JobOrderTests {
  private static let firstRun = Log<[String]>()

  @Test(.repeated(200)) func everyRunExecutesTheSameJobs() async throws {
    let clock = TestClock()
    let recorder = Recorder()
    clock.scheduler.change { $0.recorder = recorder }
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
    clock.scheduler.change { $0.recorder = nil }

    let log = recorder.jobs
    #expect(log.count > 100)
    Self.firstRun.add(log)
    #expect(log == Self.firstRun.all[0])
  }
}
