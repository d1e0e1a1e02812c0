import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

#if os(Linux) && canImport(Glibc)
  /// Blocks on dispatch queues that a test submits while it has no clock: its next clock waits for them.
  ///
  /// Serialized, because Dispatch starts a limited number of threads, and most blocks hold one for a while.
  @Suite(.serialized) struct EarlyBlockTests {
    enum Submission: CaseIterable, Sendable {
      case async, barrier, item, group, onMain, operation, delayed
      case whenGroupIsEmpty, whenItemHasRun, onMainWhenGroupIsEmpty
      case byABlock, byATaskOfABlock, byATask, byAnAsyncLet, bySource, bySourceOnMain
    }

    /// Submits a block that waits for `mayEnd`, runs for a while, and then adds to `done`. Does not wait for its end.
    ///
    /// A block of the main queue does not wait for `mayEnd`, because other tests need that queue.
    private static func submit(
      _ submission: Submission, _ mayEnd: DispatchSemaphore, _ done: Tally
    ) async {
      let queue = DispatchQueue(label: "early", attributes: .concurrent)
      let group = DispatchGroup()
      @Sendable func workOnMain() {
        usleep(2_000)
        done.add()
      }
      @Sendable func work() {
        mayEnd.wait()
        workOnMain()
      }
      switch submission {
      case .async: queue.async { work() }
      case .barrier: queue.async(flags: .barrier) { work() }
      case .item: queue.async(execute: DispatchWorkItem { work() })
      case .group: queue.async(group: group) { work() }
      case .onMain: DispatchQueue.main.async { workOnMain() }
      case .operation: OperationQueue().addOperation { work() }
      case .delayed:
        await withUnsafeContinuation { continuation in
          queue.asyncAfter(deadline: .now() + .microseconds(100)) {
            continuation.resume()
            work()
          }
        }
      case .whenGroupIsEmpty:
        queue.async(group: group) { usleep(500) }
        group.notify(queue: queue) { work() }
      case .whenItemHasRun:
        let item = DispatchWorkItem { usleep(500) }
        item.notify(queue: queue) { work() }
        queue.async(execute: item)
      case .onMainWhenGroupIsEmpty:
        queue.async(group: group) { usleep(500) }
        group.notify(queue: .main) { workOnMain() }
      case .byABlock:
        queue.async {
          usleep(500)
          queue.async { work() }
        }
      case .byATaskOfABlock:
        queue.async {
          usleep(500)
          Task {
            await Task.yield()
            queue.async { work() }
          }
        }
      case .byATask: await Task { queue.async { work() } }.value
      case .byAnAsyncLet:
        async let submitted: Void = queue.async { work() }
        await submitted
      case .bySource: source(on: queue) { _ in work() }.add(data: 1)
      case .bySourceOnMain: source(on: .main) { _ in workOnMain() }.add(data: 1)
      }
    }

    private static func source(
      on queue: DispatchQueue, _ handler: @escaping @Sendable (UInt) -> Void
    ) -> any DispatchSourceUserDataAdd {
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      nonisolated(unsafe) let data = source
      source.setEventHandler { handler(data.data) }
      source.activate()
      return source
    }

    private func settleOnANewClock(_ mayEnd: DispatchSemaphore? = nil) async {
      let clock = TestClock()
      mayEnd?.signal()
      await clock.settle()
      withExtendedLifetime(clock) {}
    }

    /// Continues in a job that no scheduler runs.
    private func continueOnAQueue() async {
      await withUnsafeContinuation { continuation in
        DispatchQueue.global().async { continuation.resume() }
      }
    }

    @Test(arguments: Submission.allCases, [false, true]) func beforeTheFirstClock(
      _ submission: Submission, mayEndEarlier: Bool
    ) async {
      let (mayEnd, done) = (DispatchSemaphore(value: 0), Tally())
      if mayEndEarlier { mayEnd.signal() }
      await Self.submit(submission, mayEnd, done)
      await settleOnANewClock(mayEnd)
      #expect(done.value == 1)
    }

    @Test(arguments: Submission.allCases) func betweenTwoClocks(_ submission: Submission) async {
      for round in 1...6 {
        await settleOnANewClock()
        await continueOnAQueue()
        let (mayEnd, done) = (DispatchSemaphore(value: 0), Tally())
        if round > 2 { mayEnd.signal() }
        await Self.submit(submission, mayEnd, done)
        await settleOnANewClock(mayEnd)
        #expect(done.value == 1, "in round \(round)")
      }
    }

    /// The block waits or runs when the clock is freed for which it was submitted.
    @Test(arguments: Submission.allCases, [false, true]) func forAFormerClock(
      _ submission: Submission, hasOtherJob: Bool
    ) async {
      for round in 1...6 {
        let (mayEnd, done) = (DispatchSemaphore(value: 0), Tally())
        if round > 2 { mayEnd.signal() }
        func begin() async {
          let clock = TestClock()
          await clock.settle()
          await Self.submit(submission, mayEnd, done)
          withExtendedLifetime(clock) {}
        }
        await begin()
        // Without another job, the test's next clock has the scheduler of the former one.
        if hasOtherJob { await Task.detached {}.value }
        await settleOnANewClock(mayEnd)
        #expect(done.value == 1, "in round \(round)")
      }
    }

    /// Data is merged when the test's next clock has been made.
    @Test(arguments: [false, true], [false, true]) func aSourceOutlivesItsClock(
      hasClock: Bool, hasOtherJob: Bool
    ) async {
      for _ in 1...6 {
        await continueOnAQueue()
        let log = Log<UInt>()
        func makeSource() async -> any DispatchSourceUserDataAdd {
          let clock = hasClock ? TestClock() : nil
          await clock?.settle()
          let source = Self.source(on: DispatchQueue(label: "early")) {
            usleep(2_000)
            log.add($0)
          }
          withExtendedLifetime(clock) {}
          return source
        }
        let source = await makeSource()
        if hasOtherJob { await Task.detached {}.value }
        let clock = TestClock()
        for number: UInt in 1...3 {
          source.add(data: number)
          await clock.settle()
          #expect(log.all == Array(1...number))
        }
        source.cancel()
        withExtendedLifetime(clock) {}
      }
    }

    @Test(arguments: [false, true]) func aQueueIsResumedWhileThereIsNoClock(hasOtherJob: Bool) async
    {
      for _ in 1...6 {
        await continueOnAQueue()
        let (queue, done) = (DispatchQueue(label: "early"), Tally())
        func begin() async {
          let clock = TestClock()
          await clock.settle()
          queue.suspend()
          queue.async {
            usleep(20_000)
            done.add()
          }
          withExtendedLifetime(clock) {}
        }
        await begin()
        if hasOtherJob { await Task.detached {}.value }
        queue.resume()
        await settleOnANewClock()
        #expect(done.value == 1)
      }
    }

    /// The test waits neither for a source that is cancelled, nor for one that is suspended.
    @Test func aSourceIsCancelledOrSuspendedBeforeTheFirstClock() async {
      for _ in 1...6 {
        await continueOnAQueue()
        let log = Log<UInt>()
        let queue = DispatchQueue(label: "early")
        let (cancelled, suspended) = (
          Self.source(on: queue, log.add), Self.source(on: queue, log.add)
        )
        queue.suspend()
        suspended.suspend()
        cancelled.add(data: 1)
        suspended.add(data: 2)
        cancelled.cancel()
        queue.resume()
        await settleOnANewClock()
        #expect(log.all == [])
        suspended.resume()
        await settleOnANewClock()
        #expect(log.all == [2])
        suspended.cancel()
      }
    }

    /// A block of a former clock submits another one when the next clock has been made.
    @Test func aFormerBlockSubmitsAnother() async {
      for _ in 1...6 {
        let done = Tally()
        let mayContinue = DispatchSemaphore(value: 0)
        func begin() async {
          let clock = TestClock()
          await clock.settle()
          DispatchQueue.global().async {
            mayContinue.wait()
            usleep(500)
            DispatchQueue.global().async {
              usleep(500)
              Task {
                await Task.yield()
                done.add()
              }
            }
          }
          withExtendedLifetime(clock) {}
        }
        await begin()
        await continueOnAQueue()
        let clock = TestClock()
        mayContinue.signal()
        await clock.settle()
        #expect(done.value == 1)
        withExtendedLifetime(clock) {}
      }
    }

    /// The block resumes a task that waits for it.
    @Test func anEarlyBlockResumesATask() async {
      for _ in 1...6 {
        await continueOnAQueue()
        let log = Log<Int>()
        let task = Task {
          await withUnsafeContinuation { continuation in
            DispatchQueue.global().async {
              usleep(1_000)
              continuation.resume()
            }
          }
          log.add(1)
        }
        await Task.yield()
        await settleOnANewClock()
        #expect(log.all == [1])
        await task.value
      }
    }

    /// What a block retains is released before the test is idle.
    @Test func whatAnEarlyBlockRetainsIsReleased() async {
      for _ in 1...6 {
        await continueOnAQueue()
        let released = Tally()
        func begin() {
          let box = Box(released)
          DispatchQueue.global().async {
            usleep(500)
            withExtendedLifetime(box) {}
          }
        }
        begin()
        await settleOnANewClock()
        #expect(released.value == 1)
      }
    }

    private final class Box: Sendable {
      let released: Tally

      init(_ released: Tally) { self.released = released }

      deinit {
        usleep(200)
        released.add()
      }
    }
  }
#endif
