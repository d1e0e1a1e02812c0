#if os(Linux)
  import Clocks
  import ClocksTestKit
  import Foundation
  import TestTraits
  import Testing

  /// Handlers of dispatch sources that are set or removed late. Dispatch calls them as without this package, and the
  /// test waits for those that it calls.
  @Suite struct SourceHandlerTests {
    private let queue = DispatchQueue(label: "source")
    private let calls = Tally()

    /// Keeps blocks of the queue from beginning for some real time.
    private func occupyQueue() {
      let held = HeldQueue(queue)
      Thread.detachNewThread {
        usleep(50_000)
        held.release()
      }
    }

    @Test(.virtualTime, arguments: [false, true])
    func dataIsMergedBeforeTheHandlerIsSet(_ isSuspended: Bool) async throws {
      let log = Log<UInt>()
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      if isSuspended {
        source.activate()
        source.suspend()
      }
      source.add(data: 3)
      source.setEventHandler { log.add(source.data) }
      occupyQueue()
      source.resume()
      try await Task.sleep(for: .seconds(1))
      #expect(log.all == [3])
      source.cancel()
    }

    /// The first data is lost, and the test does not wait for a call for it.
    @Test(.virtualTime) func theHandlerIsReplacedAfterDataWasLost() async throws {
      let log = Log<UInt>()
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler { log.add(source.data) }
      source.activate()
      queue.sync {}
      queue.suspend()
      source.add(data: 1)
      source.setEventHandler(handler: nil)
      queue.resume()
      for _ in 0..<2 { queue.sync {} }
      source.setEventHandler { log.add(source.data) }
      source.add(data: 2)
      try await Task.sleep(for: .seconds(1))
      #expect(log.all == [2])
      #expect(try VirtualTime.required.now == .seconds(1))
      source.cancel()
    }

    @Test(.virtualTime, arguments: [false, true])
    func theCancelHandlerIsSetAfterTheCancellation(_ isActive: Bool) async throws {
      let source = DispatchSource.makeTimerSource(queue: queue)
      if isActive { source.activate() }
      source.cancel()
      queue.sync {}
      occupyQueue()
      source.setCancelHandler { [calls] in calls.add() }
      if !isActive { source.activate() }
      try await Task.sleep(for: .seconds(1))
      #expect(calls.value == 1)
    }

    /// The cancel handler is called when the source is resumed, and time moves meanwhile.
    @Test(.virtualTime) func aCancelledSourceIsSuspended() async throws {
      let source = DispatchSource.makeTimerSource(queue: queue)
      source.setCancelHandler { [calls] in calls.add() }
      source.activate()
      let held = HeldQueue(queue)
      source.cancel()
      source.suspend()
      held.release()
      try await Task.sleep(for: .seconds(1))
      #expect(calls.value == 0)
      source.resume()
      try await Task.sleep(for: .seconds(1))
      #expect(calls.value == 1)
      #expect(try VirtualTime.required.now == .seconds(2))
    }

    @Test(.virtualTime) func theRegistrationHandlerIsSetAfterTheRegistration() async throws {
      let source = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: queue)
      source.activate()
      try await VirtualTime.required.settle()
      occupyQueue()
      source.setRegistrationHandler { [calls] in calls.add() }
      try await Task.sleep(for: .seconds(1))
      #expect(calls.value == 1)
      source.cancel()
    }
  }
#endif
