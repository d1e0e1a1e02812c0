#if os(Linux)
  import Clocks
  import ClocksTestKit
  import Dispatch
  import TestTraits
  import Testing

  /// The main actor and the main queue are one queue, first in, first out.
  @Suite struct MainActorAndMainQueueTests {
    private let log = Log<Int>()

    /// Enqueues a job of the main actor, or a block of the main queue.
    private func enqueue(_ number: Int, asJob: Bool) {
      let log = log
      if asJob {
        Task { @MainActor in log.add(number) }
      } else {
        DispatchQueue.main.async { log.add(number) }
      }
    }

    /// Bit n of `kinds` says whether the n-th of eight is a job.
    private func enqueue(kinds: Int) {
      for number in 0..<8 { enqueue(number, asJob: kinds >> number & 1 == 1) }
    }

    @Test(arguments: 0..<256) func inAScopeFromTheMainActor(_ kinds: Int) async throws {
      try await withVirtualTime { time in
        await MainActor.run { enqueue(kinds: kinds) }
        await time.settle()
        #expect(log.all == Array(0..<8))
      }
    }

    @Test(arguments: 0..<256) func inAScopeFromThePool(_ kinds: Int) async throws {
      try await withVirtualTime { time in
        enqueue(kinds: kinds)
        await time.settle()
        #expect(log.all == Array(0..<8))
      }
    }

    @Test(arguments: 0..<256) func onATestClock(_ kinds: Int) async {
      let clock = TestClock()
      let task = Task {
        try await clock.sleep(for: .seconds(1))
        enqueue(kinds: kinds)
      }
      await clock.advance(by: .seconds(1))
      #expect(log.all == Array(0..<8))
      _ = await task.result
    }

    @Test(arguments: 0..<64) func fromADispatchQueue(_ kinds: Int) async throws {
      try await withVirtualTime { time in
        DispatchQueue(label: "other").async { enqueue(kinds: kinds) }
        await time.settle()
        #expect(log.all == Array(0..<8))
      }
    }

    /// Each enqueues the next one while it runs, behind what was enqueued before.
    @Test(.virtualTime) func whileTheyRun() async throws {
      await MainActor.run {
        Task { @MainActor in
          log.add(0)
          enqueue(3, asJob: false)
          enqueue(4, asJob: true)
        }
        DispatchQueue.main.async {
          log.add(1)
          enqueue(5, asJob: true)
          enqueue(6, asJob: false)
        }
        enqueue(2, asJob: true)
      }
      try await VirtualTime.required.settle()
      #expect(log.all == Array(0..<7))
    }

    /// In a search, they are two queues, so that each run of an order has the same steps.
    @Test(.virtualTime, .schedules(40)) func inASearch() async throws {
      await MainActor.run {
        for number in 0..<4 { enqueue(number, asJob: number.isMultiple(of: 2)) }
      }
      try await VirtualTime.required.settle()
      #expect(log.all.filter { $0.isMultiple(of: 2) } == [0, 2])
      #expect(log.all.filter { !$0.isMultiple(of: 2) } == [1, 3])
    }

    @Test(.virtualTime) func delayedBlocks() async throws {
      DispatchQueue.main.asyncAfter(deadline: .now() + 1) { [self] in
        log.add(0)
        enqueue(1, asJob: true)
        enqueue(2, asJob: false)
      }
      try await Task.sleep(for: .seconds(2))
      #expect(log.all == [0, 1, 2])
    }

    /// The job of the pool holds the scheduler, so the job of the main actor cannot begin before the block.
    @Test(.virtualTime) func aJobThatWaitsForABlock() async throws {
      let isDone = DispatchSemaphore(value: 0)
      enqueue(1, asJob: true)
      DispatchQueue.main.async { [log] in
        log.add(0)
        isDone.signal()
      }
      #expect(waited(for: isDone))
      try await VirtualTime.required.settle()
      #expect(log.all == [0, 1])
    }

    /// An empty group, or an item that has run, does not delay its notification.
    @Test(.virtualTime, arguments: [false, true])
    func notificationsOfThePast(_ isOfItem: Bool) async throws {
      await MainActor.run {
        enqueue(0, asJob: true)
        enqueue(1, asJob: false)
        if isOfItem {
          let item = DispatchWorkItem {}
          item.perform()
          item.notify(queue: .main) { [log] in log.add(2) }
        } else {
          DispatchGroup().notify(queue: .main) { [log] in log.add(2) }
        }
        enqueue(3, asJob: true)
      }
      try await VirtualTime.required.settle()
      #expect(log.all == [0, 1, 2, 3])
    }

    @Test(.virtualTime) func theNotificationOfAnItem() async throws {
      let log = log
      await MainActor.run {
        enqueue(0, asJob: true)
        nonisolated(unsafe) let item = DispatchWorkItem { @Sendable in
          DispatchQueue.main.async { log.add(1) }
        }
        item.notify(queue: .main) { log.add(2) }
        DispatchQueue(label: "other").async(execute: item)
        // While this job runs, the item ends, and nothing else can begin on the main thread.
        item.wait()
      }
      try await VirtualTime.required.settle()
      #expect(log.all == [0, 1, 2])
    }

    /// What is enqueued after the notification can begin is behind it.
    @Test(.virtualTime, arguments: [false, true])
    func theNotificationOfAGroup(_ isLeftOnAQueue: Bool) async throws {
      let group = DispatchGroup()
      group.enter()
      group.notify(queue: .main) { [log] in log.add(2) }
      await MainActor.run {
        enqueue(0, asJob: true)
        enqueue(1, asJob: false)
        if isLeftOnAQueue {
          DispatchQueue(label: "other").sync { group.leave() }
        } else {
          group.leave()
        }
        enqueue(3, asJob: true)
        enqueue(4, asJob: false)
      }
      try await VirtualTime.required.settle()
      #expect(log.all == Array(0..<5))
    }

    /// A block of `sync` does not wait for jobs, but keeps its place among the blocks.
    @Test(.virtualTime) func blocksKeepTheirOrder() async throws {
      let log = log
      DispatchQueue(label: "other").async {
        Task { @MainActor in }
        DispatchQueue.main.async { log.add(1) }
        DispatchQueue.main.sync { log.add(2) }
      }
      try await VirtualTime.required.settle()
      #expect(log.all == [1, 2])
    }
  }
#endif
