import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// Blocks on a queue that is suspended or inactive keep no test waiting, until the queue is resumed.
@Suite struct SuspendedQueueTests {
  private let begun = Tally()

  private func submit(to queue: DispatchQueue) {
    for number in 0..<3 {
      queue.async(flags: number == 1 ? .barrier : []) {
        usleep(1_000)
        begun.add()
      }
    }
  }

  @Test(.repeated(8)) func aSuspendedQueueKeepsNoAdvanceWaiting() async {
    let clock = TestClock()
    let queue = DispatchQueue(label: "downloads", attributes: .concurrent)
    for round in 1...5 {
      queue.suspend()
      queue.suspend()
      submit(to: queue)
      await clock.advance(by: .seconds(1))
      queue.resume()
      await clock.advance(by: .seconds(1))
      #expect(begun.value == (round - 1) * 3)
      queue.resume()
      await clock.settle()
      #expect(begun.value == round * 3)
    }
  }

  @Test(.repeated(8), .virtualTime, arguments: [false, true])
  func aQueueIsActivatedLater(_ hasTarget: Bool) async throws {
    let queue = DispatchQueue(
      label: "startup", attributes: [.concurrent, .initiallyInactive],
      target: hasTarget ? .global() : nil)
    submit(to: queue)
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 0)
    queue.activate()
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 3)
    #expect(VirtualTime.current?.now == .seconds(120))
  }

  /// The block that runs still counts, and so does what it starts.
  @Test(.repeated(8), .virtualTime) func aBlockSuspendsItsOwnQueue() async throws {
    let time = try VirtualTime.required
    let queue = DispatchQueue(label: "serial")
    let (begun, ended) = (begun, Tally())
    queue.async {
      queue.suspend()
      usleep(5_000)
      Task {
        try await Task.sleep(for: .seconds(2))
        #expect(begun.value == 0)
        queue.resume()
      }
      ended.add()
    }
    submit(to: queue)
    await time.settle()
    #expect(ended.value == 1)
    try await Task.sleep(for: .seconds(3))
    #expect(begun.value == 3)
  }

  @Test(.repeated(8), .virtualTime) func theTargetOfAQueueIsSuspended() async throws {
    let target = DispatchQueue(label: "target")
    let queue = DispatchQueue(
      label: "above", attributes: .concurrent,
      target: DispatchQueue(label: "between", target: target))
    submit(to: queue)
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 3)
    target.suspend()
    submit(to: queue)
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 3)
    target.resume()
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 6)
  }

  @Test(.repeated(8)) func otherThreadsSuspendAndResumeAQueue() async throws {
    let queue = DispatchQueue(label: "shared")
    queue.suspend()
    let begun = begun
    try await withVirtualTime { time in
      submit(to: queue)
      try await Task.sleep(for: .seconds(60))
      #expect(begun.value == 0)
      // A thread that does not belong to the scope resumes the queue.
      await time.holding {
        await withUnsafeContinuation { (done: UnsafeContinuation<Void, Never>) in
          Thread.detachNewThread {
            queue.resume()
            done.resume()
          }
        }
      }
      try await Task.sleep(for: .seconds(60))
      #expect(begun.value == 3)
    }
  }

  @Test(.virtualTime) func anActiveQueueStaysSuspendedIfItIsActivated() async throws {
    let queue = DispatchQueue(label: "active")
    queue.suspend()
    queue.activate()
    submit(to: queue)
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 0)
    queue.resume()
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 3)
  }

  /// The blocks that an inactive queue has run on the target that it has when it is activated.
  @Test(.repeated(8), .virtualTime) func anInactiveQueueGetsAnotherTarget() async throws {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    let queue = DispatchQueue(label: "above", attributes: .initiallyInactive, target: first)
    first.suspend()
    submit(to: queue)
    queue.setTarget(queue: second)
    queue.activate()
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 3)
    first.resume()
  }

  /// The handler runs on the queue that the source has when it is activated.
  @Test(.virtualTime) func anInactiveSourceGetsAnotherTarget() async throws {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    let source = DispatchSource.makeUserDataAddSource(queue: first)
    let begun = begun
    source.setEventHandler { begun.add() }
    (source as? DispatchObject)?.setTarget(queue: second)
    second.suspend()
    source.activate()
    source.add(data: 1)
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 0)
    second.resume()
    try await Task.sleep(for: .seconds(60))
    #expect(begun.value == 1)
    source.cancel()
  }

  @Test(.virtualTime) func aTestLeavesAnInactiveQueueBehind() async throws {
    submit(to: DispatchQueue(label: "never", attributes: .initiallyInactive))
    try await Task.sleep(for: .seconds(1))
    #expect(begun.value == 0)
  }
}
