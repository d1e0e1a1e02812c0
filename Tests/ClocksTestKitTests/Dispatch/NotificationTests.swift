import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

/// Blocks that begin when a group is empty, or when a work item has run.
@Suite struct NotificationTests {
  /// As without this package, a barrier begins after the blocks that run on its queue.
  @Test(.repeated(5), .virtualTime, arguments: 0..<4)
  func aBarrierRunsAlone(_ kind: Int) async throws {
    let queue = DispatchQueue(label: "wide", attributes: .concurrent)
    let (log, group) = (Log<String>(), DispatchGroup())
    nonisolated(unsafe) let item = DispatchWorkItem {}
    group.enter()
    switch kind {
    case 0: group.notify(flags: .barrier, queue: queue) { log.add("barrier") }
    case 1:
      group.notify(queue: queue, work: DispatchWorkItem(flags: .barrier) { log.add("barrier") })
    case 2: item.notify(flags: .barrier, queue: queue) { log.add("barrier") }
    default:
      item.notify(
        queue: queue, execute: DispatchWorkItem(flags: .barrier) { log.add("barrier") })
    }
    queue.async {
      usleep(20_000)
      log.add("block")
    }
    group.leave()
    DispatchQueue(label: "items").async(execute: item)
    try await VirtualTime.required.settle()
    #expect(log.all == ["block", "barrier"])
  }
}
