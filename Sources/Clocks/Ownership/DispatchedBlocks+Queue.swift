extension DispatchedBlocks {
  /// Counts of the work that keeps the blocks of one queue from beginning.
  struct Stops {
    /// Blocks of a serial queue, barriers and `sync` calls that wait in virtual time. While there are any, no block can
    /// begin.
    var all = 0
    /// Other blocks of a concurrent queue that wait in virtual time. While there are any, barriers and the blocks
    /// behind them cannot begin.
    var barriers = 0
    /// Running `sync` calls. Such a call may still end, so the blocks behind it count as able to run.
    var syncs = 0

    var areNone: Bool { all == 0 && barriers == 0 && syncs == 0 }

    static func += (a: inout Self, b: Self) {
      a.all += b.all
      a.barriers += b.barriers
      a.syncs += b.syncs
    }

    /// The stops of a queue whose blocks run on another queue, as stops of that target.
    func passed(to target: Queue, times sign: Int) -> Self {
      let waits = sign * (all + barriers)
      return target.identity.isConcurrent
        ? Self(barriers: waits) : Self(all: waits, syncs: sign * syncs)
    }
  }

  /// A queue, and counts of its blocks: a test may have thousands.
  final class Queue {
    private(set) var identity: BlockQueue
    /// The queues on which this one's blocks run in turn.
    private(set) var targets: [Queue] = []
    /// Whether it is, or was, a target of another queue.
    private(set) var isTarget = false
    var isMain: Bool { identity.isMain }
    var isSuspended: Bool
    /// The stops that come from the queue's own blocks and `sync` calls.
    private var ownStops = Stops()
    /// `ownStops`, and the stops that come from queues of which this one is a target.
    private(set) var stops = Stops()
    /// All blocks on the queue, also abandoned ones.
    var all = 0
    /// The blocks that have begun, also abandoned ones; and the barriers among them.
    var begun = 0
    var begunBarriers = 0
    /// The blocks that have begun, without abandoned ones.
    var running = 0
    /// The blocks that have not begun, without abandoned ones.
    var waiting = 0
    /// The numbers of all barriers that have not begun, in their order.
    var waitingBarriers: [UInt64] = []
    /// The number of blocks that can run.
    var count = 0

    init(_ queue: BlockQueue) {
      identity = queue
      identity.targets = []
      isSuspended = queue.isSuspended
    }

    /// Whether the test has nothing on the queue, so that this object can be dropped.
    var isUnused: Bool { all == 0 && stops.areNone }

    /// Whether anything but a barrier, or a running `sync`, keeps the queue's blocks from beginning.
    var isStopped: Bool {
      isSuspended || stops.all > 0 || targets.contains { $0.isSuspended || $0.stops.all > 0 }
    }

    /// Whether anything but a running `sync` keeps a block from beginning.
    func isStopped(_ number: UInt64) -> Bool {
      isStopped || stops.barriers > 0 && isBehindBarrier(number)
    }

    /// Whether a block that has not begun is a barrier, or is behind a barrier that has not begun.
    func isBehindBarrier(_ number: UInt64) -> Bool {
      waitingBarriers.first.map { $0 <= number } ?? false
    }

    func setTargets(_ new: [Queue], _ identities: [BlockQueue]) {
      for target in targets { target.stops += ownStops.passed(to: target, times: -1) }
      (targets, identity.targets) = (new, identities)
      for target in targets {
        target.isTarget = true
        target.stops += ownStops.passed(to: target, times: 1)
      }
    }

    func noteStop(_ stop: BlockQueue.Stop, _ change: Int) {
      let change =
        switch stop {
        case .ofAll: Stops(all: change)
        case .ofBarriers: Stops(barriers: change)
        case .sync: Stops(syncs: change)
        }
      ownStops += change
      stops += change
      for target in targets { target.stops += change.passed(to: target, times: 1) }
    }

    /// Whether the queues are identical, one is a target of the other, or they have a target in common.
    func shares(with other: Queue) -> Bool {
      let own = [self] + targets
      return ([other] + other.targets).contains { queue in own.contains { $0 === queue } }
    }

    /// Counts a block in its present state (`change` is 1), or no longer (-1).
    func add(_ number: UInt64, _ block: Block, _ change: Int) {
      all += change
      if block.thread != nil {
        begun += change
        if block.isBarrier { begunBarriers += change }
        if !block.isAbandoned { running += change }
      } else {
        if !block.isAbandoned { waiting += change }
        guard block.isBarrier else { return }
        // Only the newest block is added before it begins.
        if change > 0 {
          waitingBarriers.append(number)
        } else if waitingBarriers.first == number {
          waitingBarriers.removeFirst()
        } else {
          waitingBarriers.removeAll { $0 == number }
        }
      }
    }

    /// Stops the program if the stops do not include those of other queues; for tests.
    func checkStops(_ queues: some Sequence<Queue>) {
      var expected = ownStops
      for queue in queues where queue.targets.contains(where: { $0 === self }) {
        expected += queue.ownStops.passed(to: self, times: 1)
      }
      let (all, own) = (stops, expected)
      precondition(
        (all.all, all.barriers, all.syncs) == (own.all, own.barriers, own.syncs),
        "the stops are \(all), and should be \(own)")
    }
  }
}
