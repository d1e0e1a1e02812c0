import Testing

@testable import Clocks

final class Log: @unchecked Sendable {
  private let lock = Lock()
  private var items: [String] = []
  func add(_ s: String) { lock.withLock { items.append(s) } }
  var all: [String] { lock.withLock { items } }
  deinit { lock.destroy() }
}

actor Counter {
  var n = 0
  func inc() { n += 1 }
}

@Suite struct Basic {
  let clock = TestClock()

  @Test func simple() async throws {
    let log = Log()
    let clock = clock
    Task {
      for i in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        log.add("tick \(i) \(clock.now)")
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["tick 0 1.0 seconds"])
    await clock.advance(by: .seconds(5))
    #expect(log.all == ["tick 0 1.0 seconds", "tick 1 2.0 seconds", "tick 2 3.0 seconds"])
    #expect(clock.now == .init(offset: .seconds(6)))
  }

  @Test func orderBeforeFirstAwaitOfClock() async throws {
    let log = Log()
    let tasks = (0..<100).map { i in
      Task {
        log.add("a\(i)")
        await Task.yield()
        log.add("b\(i)")
      }
    }
    #expect(log.all == [])
    for t in tasks { await t.value }
    #expect(log.all == (0..<100).map { "a\($0)" } + (0..<100).map { "b\($0)" })
  }

  @MainActor @Test func mainActor() async throws {
    let log = Log()
    let clock = clock
    Task {
      for i in 0..<10 {
        try await clock.sleep(for: .seconds(1))
        MainActor.preconditionIsolated()
        log.add("m\(i)")
      }
    }
    Task.detached {
      for i in 0..<10 {
        try await clock.sleep(for: .seconds(1))
        await MainActor.run { log.add("d\(i)") }
      }
    }
    await clock.advance(by: .seconds(10))
    #expect(log.all == (0..<10).flatMap { ["d\($0)", "m\($0)"] })
  }

  @Test(arguments: 0..<300) func chains(_ n: Int) async throws {
    let counter = Counter()
    let clock = clock
    let stream = AsyncStream<Int>.makeStream()
    Task.detached {
      for await x in stream.stream {
        for _ in 0..<(x * n) { await Task.yield() }
        await counter.inc()
        await MainActor.run {}
        await withTaskGroup { g in
          for _ in 0..<5 { g.addTask { await counter.inc() } }
        }
        await MainActor.run {}
        await counter.inc()
      }
    }
    Task {
      for i in 0..<5 {
        try await clock.sleep(for: .seconds(1))
        stream.continuation.yield(i)
      }
      stream.continuation.finish()
    }
    for i in 1...5 {
      await clock.advance(by: .seconds(1))
      #expect(await counter.n == i * 7)
    }
  }

  @Test func immediate() async throws {
    let log = Log()
    let clock = clock
    Task.immediate {
      log.add("start")
      Task { log.add("child") }
      try await clock.sleep(for: .seconds(1))
      log.add("woken")
    }
    #expect(log.all == ["start"])
    await clock.advance(by: .seconds(1))
    #expect(log.all == ["start", "child", "woken"])
  }

  @Test func cancel() async throws {
    let clock = clock
    let t = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.settle()
    #expect(clock.pendingSleeps.count == 1)
    t.cancel()
    #expect(clock.pendingSleeps.isEmpty)
    await #expect(throws: CancellationError.self) { try await t.value }
    print(clock.debugDescription)
  }
}
