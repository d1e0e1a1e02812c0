import Clocks
import ClocksTestKit
import Dispatch
import Foundation
import Testing

/// Dispatched blocks, which are a part of the test that submits them: `advance` waits for them.
@Suite struct DispatchedBlockTests {
  private let queue = DispatchQueue(label: "work")
  private let wide = DispatchQueue(label: "wide", attributes: .concurrent)

  /// All ways to submit a block to a queue.
  private var ways: [(String, @Sendable (@escaping @Sendable () -> Void) -> Void)] {
    [
      ("async", { [queue] in queue.async(execute: $0) }),
      ("global", { DispatchQueue.global().async(execute: $0) }),
      ("main", { DispatchQueue.main.async(execute: $0) }),
      ("quality", { [queue] in queue.async(qos: .utility, execute: $0) }),
      ("barrier", { [wide] in wide.async(flags: .barrier, execute: $0) }),
      ("group", { [queue] in queue.async(group: DispatchGroup(), execute: $0) }),
      (
        "group, quality and flags",
        { [wide] in
          wide.async(group: DispatchGroup(), qos: .background, flags: .barrier, execute: $0)
        }
      ),
      ("item", { [queue] in queue.async(execute: DispatchWorkItem(block: $0)) }),
      (
        "item in a group",
        { [queue] in queue.async(group: DispatchGroup(), execute: DispatchWorkItem(block: $0)) }
      ),
      ("from a queue", { [queue, wide] work in wide.async { queue.async(execute: work) } }),
      (
        "operation",
        { work in
          let operations = OperationQueue()
          let first = BlockOperation { takeTime() }
          let second = BlockOperation(block: work)
          second.addDependency(first)
          operations.addOperations([first, second], waitUntilFinished: false)
        }
      ),
      (
        "notification of an empty group",
        { [queue] in DispatchGroup().notify(queue: queue, execute: $0) }
      ),
      (
        "notification of a group",
        { [queue, wide] in
          let group = DispatchGroup()
          wide.async(group: group) { takeTime() }
          wide.async(group: group) { takeTime() }
          group.notify(queue: queue, execute: $0)
        }
      ),
      (
        "notification of a group that a queue leaves",
        { [queue, wide] in
          let group = DispatchGroup()
          group.enter()
          group.notify(queue: queue, work: DispatchWorkItem(block: $0))
          wide.async {
            takeTime()
            group.leave()
          }
        }
      ),
      (
        "notification of an item",
        { [queue, wide] in
          nonisolated(unsafe) let item = DispatchWorkItem { takeTime() }
          item.notify(queue: queue, execute: $0)
          wide.async(execute: item)
        }
      ),
      (
        "notification of an item that `sync` runs",
        { [queue, wide] in
          let item = DispatchWorkItem(flags: .barrier) {}
          item.notify(queue: queue, execute: $0)
          wide.sync(execute: item)
        }
      ),
      (
        "notification of an item that has run",
        { [queue, wide] work in
          nonisolated(unsafe) let item = DispatchWorkItem {}
          wide.async(execute: item)
          wide.async(flags: .barrier) { item.notify(queue: queue, execute: work) }
        }
      ),
      (
        "notification of a cancelled item",
        { [queue, wide] in
          nonisolated(unsafe) let item = DispatchWorkItem {}
          item.notify(queue: queue, execute: $0)
          item.cancel()
          wide.async(execute: item)
        }
      ),
    ]
  }

  @Test(.repeated(10)) func advanceWaitsForABlock() async throws {
    for (name, submit) in ways {
      let clock = TestClock()
      let ticks = Tally()
      let task = Task {
        while true {
          try await clock.sleep(for: .seconds(1))
          submit {
            takeTime()
            ticks.add()
          }
        }
      }
      for second in 1...3 {
        await clock.advance(by: .seconds(1))
        #expect(ticks.value == second, "\(name)")
      }
      task.cancel()
    }
  }

  /// A block starts a task that sleeps: the task belongs to the test, too.
  @Test(.repeated(10)) func tasksThatABlockStartsBelongToTheTest() async throws {
    for (name, submit) in ways {
      let clock = TestClock()
      let log = Log<String>()
      submit {
        Task {
          try await clock.sleep(for: .seconds(1))
          log.add("slept until \(clock.now)")
          submit {
            takeTime()
            Task { log.add("handed on at \(clock.now)") }
          }
        }
      }
      await clock.advance(by: .seconds(2))
      #expect(
        log.all == ["slept until 1.0 seconds", "handed on at 2.0 seconds"].prefix(1)
          + ["handed on at 1.0 seconds"], "\(name)")
      #expect(clock.now.offset == .seconds(2))
    }
  }

  @Test(.repeated(10)) func theTimeOfAScopeStandsStill() async throws {
    for (name, submit) in ways {
      try await withVirtualTime { time in
        let log = Log<String>()
        let start = ContinuousClock.now
        submit {
          takeTime()
          log.add("work", since: start)
          Task {
            try await Task.sleep(for: .seconds(3))
            log.add("task", since: start)
          }
        }
        try await Task.sleep(for: .seconds(2))
        log.add("test", since: start)
        try await Task.sleep(for: .seconds(2))
        #expect(log.all == ["work 0.0", "test 2.0", "task 3.0"], "\(name)")
        #expect(time.now.offset == .seconds(4))
      }
    }
  }

  /// A callback that resumes a task, as code without async functions uses it.
  @Test(.repeated(20), .virtualTime) func aCallback() async throws {
    let time = try #require(VirtualTime.current)
    for _ in 0..<5 {
      let answer = await withCheckedContinuation { continuation in
        queue.async {
          takeTime()
          DispatchQueue.global().async { continuation.resume(returning: 42) }
        }
      }
      #expect(answer == 42)
      try await Task.sleep(for: .seconds(1))
    }
    #expect(time.now.offset == .seconds(5))
  }

  /// A notification counts only from when its group is empty. Otherwise time could not move.
  @Test(.repeated(10)) func aGroupThatWaitsForTime() async throws {
    try await withVirtualTime { _ in
      let start = ContinuousClock.now
      let log = Log<String>()
      let group = DispatchGroup()
      group.enter()
      group.enter()
      group.notify(queue: queue) {
        takeTime()
        log.add("empty", since: start)
      }
      Task {
        try await Task.sleep(for: .seconds(1))
        group.leave()
        try await Task.sleep(for: .seconds(1))
        group.leave()
      }
      nonisolated(unsafe) let item = DispatchWorkItem { log.add("item", since: start) }
      item.notify(queue: queue) {
        takeTime()
        log.add("after the item", since: start)
      }
      Task {
        try await Task.sleep(for: .seconds(3))
        queue.async(execute: item)
      }
      try await Task.sleep(for: .seconds(4))
      log.add("end", since: start)
      #expect(log.all == ["empty 2.0", "item 3.0", "after the item 3.0", "end 4.0"])
    }
  }

  @Test(.virtualTime) func whatTheQueueReads() async throws {
    try await Task.sleep(for: .seconds(3600))
    let now = (ContinuousClock.now, Date(), DispatchTime.now(), DispatchWallTime.now())
    let log = Log<String>()
    queue.async {
      log.add("\(ContinuousClock.now == now.0) \(Date() == now.1)")
      log.add("\(DispatchTime.now() == now.2) \(DispatchWallTime.now() == now.3)")
    }
    await VirtualTime.current?.settle()
    #expect(log.all == ["true true", "true true"])
  }

  /// Barriers, flags and the order of a queue stay as they are without this package.
  @Test(.repeated(10), .virtualTime) func theOrderOfAQueue() async throws {
    let log = Log<String>()
    for number in 0..<5 {
      queue.async { log.add("\(number)") }
      queue.async(execute: DispatchWorkItem { log.add("item \(number)") })
    }
    await VirtualTime.current?.settle()
    #expect(log.all == (0..<5).flatMap { ["\($0)", "item \($0)"] })

    let parts = Tally()
    let seen = Log<String>()
    for _ in 0..<4 {
      wide.async {
        takeTime()
        parts.add()
      }
    }
    wide.async(execute: DispatchWorkItem(flags: .barrier) { seen.add("\(parts.value)") })
    for _ in 0..<4 { wide.async { parts.add() } }
    wide.async(flags: .barrier) { seen.add("\(parts.value)") }
    for _ in 0..<4 { wide.async { parts.add() } }
    wide.async(group: nil, qos: .utility, flags: .barrier) { seen.add("\(parts.value)") }
    await VirtualTime.current?.settle()
    for _ in 0..<4 {
      wide.async {
        takeTime()
        parts.add()
      }
    }
    wide.sync(execute: DispatchWorkItem(flags: .barrier) { seen.add("\(parts.value)") })
    #expect(seen.all == ["4", "8", "12", "16"])
  }

  @Test(.virtualTime) func workItemsBehaveAsWithoutThePackage() async throws {
    let log = Log<String>()
    let cancelled = DispatchWorkItem { log.add("never") }
    cancelled.cancel()
    queue.async(execute: cancelled)
    let item = DispatchWorkItem { log.add("item") }
    queue.async(execute: item)
    #expect(item.wait(timeout: .now() + 600) == .success)
    #expect(DispatchGroup().wait(timeout: .now()) == .success)
    queue.sync { log.add("sync") }
    queue.sync(flags: .barrier) { log.add("barrier") }
    queue.sync(execute: cancelled)
    let synchronous = DispatchWorkItem { log.add("sync item") }
    queue.sync(execute: synchronous)
    #expect(synchronous.wait(timeout: .now() + 600) == .success)
    DispatchQueue.concurrentPerform(iterations: 3) { _ in log.add("perform") }
    #expect(
      log.all == ["item", "sync", "barrier", "sync item", "perform", "perform", "perform"])
  }

  @Test(.virtualTime) func errnoIsKept() async {
    let group = DispatchGroup()
    for _ in 1...2 { group.enter() }
    errno = EDOM
    group.notify(queue: queue) {}
    group.leave()
    let error = errno
    #expect(error == EDOM)
    group.leave()
  }

  @Test func blocksOfOtherThreadsAreNotWaitedFor() async throws {
    let clock = TestClock()
    let (stopped, stop) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      // A queue with a thread of its own, because a blocked thread of the pool would stop other tests.
      DispatchQueue(label: "others").async {
        stop.wait()
        stopped.signal()
      }
    }
    await clock.advance(by: .seconds(1))
    stop.signal()
    #expect(waited(for: stopped))
  }
}
