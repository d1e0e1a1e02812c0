import Testing

@testable import Clocks

/// When `advance` returns, every task of the test has run as far as it can.
///
/// Each test runs many jobs between one sleep and the next, and asserts its progress after each advance.
/// Hundreds of tests run in parallel, so that every thread is busy.
@Suite struct ExactnessTests {
  let clock = TestClock()

  @Test(.repeated(20), arguments: [1, 2, 3, 10, 100, 1_000])
  func chainsOfYields(_ length: Int) async {
    let log = Log<Int>()
    let ticker = Task { [clock] in
      for tick in 1... {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<length { await Task.yield() }
        log.add(tick)
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(log.all.last == tick)
    }
    ticker.cancel()
  }

  @Test(.repeated(100)) func hopsBetweenActorsAndTheMainActor() async {
    let hops = RepeatedTrait.number
    let first = Counter()
    let second = Counter()
    let ticker = Task { [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<hops {
          await first.increment()
          await MainActor.run { MainActor.preconditionIsolated() }
          await second.increment()
        }
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(await first.count == tick * hops)
      #expect(await second.count == tick * hops)
    }
    ticker.cancel()
  }

  @Test(.repeated(50)) func nestedGroups() async {
    let counter = Counter()
    let ticker = Task { [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        await withTaskGroup { outer in
          for _ in 0..<3 {
            outer.addTask {
              await withTaskGroup { inner in
                for _ in 0..<3 {
                  inner.addTask { await counter.incrementSlowly(yields: 3) }
                }
              }
              await counter.increment()
            }
          }
        }
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(await counter.count == tick * 12)
    }
    ticker.cancel()
  }

  @Test(.repeated(50)) func tasksThatStartTasks() async {
    let depth = RepeatedTrait.number
    let log = Log<Int>()
    @Sendable func descend(_ level: Int) {
      guard level > 0 else { return log.add(level) }
      switch level % 3 {
      case 0: Task { descend(level - 1) }
      case 1: Task.detached { descend(level - 1) }
      default: Task { @MainActor in descend(level - 1) }
      }
    }
    let ticker = Task { [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        descend(depth)
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(log.all.count == tick)
    }
    ticker.cancel()
  }

  @Test(.repeated(50)) func streamHandOffs() async {
    let stages = RepeatedTrait.number
    let log = Log<Int>()
    let (head, source) = AsyncStream<Int>.makeStream()
    var stream = head
    for _ in 0..<stages {
      let (next, relay) = AsyncStream<Int>.makeStream()
      Task.detached { [stream] in
        for await value in stream { relay.yield(value + 1) }
        relay.finish()
      }
      stream = next
    }
    Task { [stream] in
      for await value in stream { log.add(value) }
    }
    let ticker = Task { [clock] in
      for tick in 1... {
        try await clock.sleep(for: .seconds(1))
        source.yield(tick * 1_000)
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(log.all.last == tick * 1_000 + stages)
    }
    source.finish()
    ticker.cancel()
  }

  @Test(.repeated(100)) func everythingTogether() async {
    let size = RepeatedTrait.number
    let counter = Counter()
    let (stream, source) = AsyncStream<Int>.makeStream()
    Task.detached {
      for await value in stream {
        async let first: Void = counter.incrementSlowly(yields: value % 7)
        async let second: Void = Task { @MainActor in await counter.increment() }.value
        _ = await (first, second)
      }
    }
    let tickers = (0..<size).map { _ in
      Task { [clock] in
        for tick in 1... {
          try await clock.sleep(for: .seconds(1))
          source.yield(tick)
        }
      }
    }
    for tick in 1...3 {
      await clock.advance(by: .seconds(1))
      #expect(await counter.count == tick * size * 2)
    }
    source.finish()
    for ticker in tickers { ticker.cancel() }
  }

  @MainActor @Test(.repeated(50)) func testsOnTheMainActor() async {
    let repetition = RepeatedTrait.number
    var ticks = 0
    let ticker = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<repetition { await Task.yield() }
        ticks += 1
      }
    }
    for tick in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(ticks == tick)
    }
    ticker.cancel()
  }

  @Test(.repeated(50)) func settleWithoutTime() async {
    let length = RepeatedTrait.number
    let counter = Counter()
    Task {
      await counter.incrementSlowly(yields: length)
      Task.detached { await counter.incrementSlowly(yields: length) }
    }
    await clock.settle()
    #expect(await counter.count == 2)
  }
}
