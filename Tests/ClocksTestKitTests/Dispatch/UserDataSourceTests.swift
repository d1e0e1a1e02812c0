#if os(Linux)
  import Clocks
  import ClocksTestKit
  import Foundation
  import TestTraits
  import Testing

  /// Sources into which a test merges data: it waits for their handlers. Also the data of timers.
  @Suite struct UserDataSourceTests {
    private static let kinds:
      [@Sendable (DispatchQueue) -> (any DispatchSourceProtocol, (UInt) -> Void)] =
        [
          {
            let source = DispatchSource.makeUserDataAddSource(queue: $0)
            return (source, { source.add(data: $0) })
          },
          {
            let source = DispatchSource.makeUserDataOrSource(queue: $0)
            return (source, { source.or(data: $0) })
          },
          {
            let source = DispatchSource.makeUserDataReplaceSource(queue: $0)
            return (source, { source.replace(data: $0) })
          },
        ]

    @Test(arguments: kinds.indices) func anAdvanceWaitsForTheHandler(_ kind: Int) async throws {
      let (clock, log) = (TestClock(), Log<UInt>())
      let (source, merge) = Self.kinds[kind](DispatchQueue(label: "data"))
      nonisolated(unsafe) let (data, mergeData) = (source, merge)
      source.setEventHandler {
        usleep(1_000)
        log.add(data.data)
      }
      source.activate()
      let task = Task { @Sendable in
        for number: UInt in 1...5 {
          try await clock.sleep(for: .seconds(1))
          mergeData(number)
          // A zero calls no handler. It would replace the number.
          if kind < 2 { mergeData(0) }
        }
      }
      for number: UInt in 1...5 {
        await clock.advance(by: .seconds(1))
        #expect(log.all == Array(1...number))
      }
      try await task.value
      source.cancel()
      merge(1)
      await clock.settle()
      #expect(log.all.count == 5)
    }

    /// Dispatch may call the handler for some data while the test merges more.
    @Test(.repeated(100), .virtualTime) func noDataIsLeftBehind() async throws {
      let log = Log<UInt>()
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "sum"))
      source.setEventHandler { log.add(source.data) }
      source.activate()
      for number: UInt in 1...50 { source.add(data: number) }
      try await VirtualTime.required.settle()
      #expect(log.all.reduce(0, +) == 1275)
      source.cancel()
    }

    /// A zero may take back the call for the number before.
    @Test(.repeated(20), .virtualTime) func aZeroIsNotWaitedFor() async throws {
      let run = RepeatedTrait.number
      let log = Log<UInt>()
      let source = DispatchSource.makeUserDataReplaceSource(queue: DispatchQueue(label: "value"))
      source.setEventHandler { log.add(source.data) }
      source.activate()
      for _ in 0..<run { source.replace(data: 1) }
      source.replace(data: 0)
      try await Task.sleep(for: .seconds(1))
      #expect(log.all.count <= run && log.all.allSatisfy { $0 == 1 })
      #expect(try VirtualTime.required.now == .seconds(1))
      source.cancel()
    }

    /// Data of a suspended source waits, and time moves.
    @Test(.repeated(200), .virtualTime) func aSuspendedSourceIsNotWaitedFor() async throws {
      let log = Log<UInt>()
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "sum"))
      source.setEventHandler { log.add(source.data) }
      source.activate()
      source.suspend()
      source.add(data: 1)
      try await Task.sleep(for: .seconds(1))
      source.add(data: 2)
      #expect(log.all.isEmpty)
      source.resume()
      try await VirtualTime.required.settle()
      #expect(log.all == [3])
      source.cancel()
    }

    /// Setting a timer again forgets the firings that its handler has not handled yet.
    @Test(.virtualTime) func aTimerThatIsSetAnewCountsFromZero() async throws {
      let (log, queue) = (Log<UInt>(), DispatchQueue(label: "timer"))
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { log.add(timer.data) }
      timer.schedule(deadline: .now() + 1, repeating: 1)
      timer.activate()
      queue.suspend()
      try await Task.sleep(for: .seconds(2.5))
      timer.schedule(deadline: .now() + 1)
      queue.resume()
      try await Task.sleep(for: .seconds(2))
      #expect(log.all == [1])
      timer.cancel()
    }

    @Test(.virtualTime) func aTimerCountsTheFiringsThatItsHandlerMissed() async throws {
      let log = Log<UInt>()
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
      timer.setEventHandler { log.add(timer.data) }
      timer.schedule(deadline: .now() + 1, repeating: 1)
      timer.activate()
      try await Task.sleep(for: .seconds(1.5))
      timer.suspend()
      try await Task.sleep(for: .seconds(3))
      timer.resume()
      try await Task.sleep(for: .seconds(1))
      #expect(log.all == [1, 3, 1])
      timer.cancel()
    }
  }
#endif
