#if os(Linux) && canImport(Glibc)
  import CDispatch
  import ClocksSearch
  import Testing

  @testable import Clocks

  @Suite struct BlockQueueTests {
    private func withQueue(isConcurrent: Bool = false, _ body: (BlockQueue) -> Void) {
      let attribute = RuntimeSymbol.address(of: "_dispatch_queue_attr_concurrent")
      let queue = dispatch_queue_create(
        "one label", isConcurrent ? attribute.map { OpaquePointer($0) } : nil)
      body(BlockQueue(queue))
      DispatchObject.release(queue)
    }

    @Test func theClassOfAQueueTellsWhetherItIsConcurrent() {
      withQueue { #expect(!$0.isConcurrent && !$0.isMain) }
      withQueue(isConcurrent: true) { #expect($0.isConcurrent) }
      #expect(BlockQueue(dispatch_get_global_queue(0, 0)).isConcurrent)
      #expect(BlockQueue(dispatch_get_global_queue(0x15, 2)).isConcurrent)
      #expect(!BlockQueue(dispatch_get_main_queue()).isConcurrent)
      #expect(BlockQueue(dispatch_get_main_queue()).isMain)
    }

    /// A test is idle while a block waits for a paused block, if both are on one serial queue.
    @Test func queuesWithOneLabelAreDifferent() {
      withQueue { paused in
        withQueue { other in
          #expect(paused.label == other.label)
          var idleness = Idleness()
          idleness.dispatchedBlocks.noteStop(.ofAll, of: paused, 1)
          let waiting = idleness.dispatchedBlocks.begin(on: paused)
          #expect(idleness.isIdle == true)
          let ready = idleness.dispatchedBlocks.begin(on: other)
          #expect(idleness.isIdle == false)
          idleness.dispatchedBlocks.end(ready)
          idleness.dispatchedBlocks.end(waiting)
        }
      }
    }

    /// A barrier, and what is behind it, cannot begin.
    @Test func blocksOfAConcurrentQueueGoOnBesideAPausedOne() {
      withQueue(isConcurrent: true) { queue in
        var blocks = DispatchedBlocks()
        blocks.noteStop(queue.stop(by: false), of: queue, 1)
        let ready = blocks.begin(on: queue)
        #expect(blocks.count == 1 && blocks.firstThatMayBegin != nil)
        let barrier = blocks.begin(on: queue, isBarrier: true)
        let last = blocks.begin(on: queue)
        #expect(blocks.count == 1)
        blocks.end(ready)
        #expect(blocks.count == 0 && blocks.firstThatMayBegin == nil)
        blocks.noteStop(queue.stop(by: false), of: queue, -1)
        #expect(blocks.count == 2 && blocks.firstThatMayBegin != nil)
        blocks.run(barrier, on: 1)
        #expect(blocks.count == 2 && blocks.firstThatMayBegin == nil)
        // The barrier begins to wait.
        blocks.noteStop(queue.stop(by: true), of: queue, 1)
        blocks.end(barrier)
        #expect(blocks.count == 0)
        blocks.noteStop(queue.stop(by: true), of: queue, -1)
        #expect(blocks.count == 1)
        blocks.end(last)
        #expect(blocks.count == 0)
      }
    }

    /// Notifications may come late or out of order. An owner always reads the newest state.
    @Test func aSuspensionCountsForEachOwner() {
      let queue = dispatch_queue_create("suspended", nil)
      let identity = BlockQueue(queue)
      var (first, second) = (DispatchedBlocks(), DispatchedBlocks())
      let block = first.begin(on: identity)
      SuspendedQueues.wasSuspended(queue)
      first.noteSuspension(of: identity)
      second.noteSuspension(of: identity)
      let other = second.begin(on: identity)
      #expect(first.count == 0 && second.count == 0)
      SuspendedQueues.wasSuspended(queue)
      SuspendedQueues.willResume(queue)
      SuspendedQueues.willActivate(queue)
      for _ in 1...2 { first.noteSuspension(of: identity) }
      #expect(first.count == 0)
      SuspendedQueues.willResume(queue)
      first.noteSuspension(of: identity)
      second.noteSuspension(of: identity)
      #expect(first.count == 1 && second.count == 1)
      first.end(block)
      second.end(other)
      DispatchObject.release(queue)
    }

    /// Owners need its label and its targets, but only if its blocks can begin now, or no longer can.
    @Test func aQueueIsCopiedOnlyIfItStopsOrGoesOn() {
      withQueue { queue in
        var copies: [Int] = []
        func change(_ suspensions: Int) {
          func copy() -> BlockQueue {
            copies.append(suspensions)
            return queue
          }
          SuspendedQueues.change(
            queue.address, { $0.suspensions = suspensions }, queue: copy())
        }
        // Its scheduler is an owner. Without one, no queue would be copied.
        let clock = TestClock()
        for suspensions in [2, 3, 1, 0, 0] { change(suspensions) }
        #expect(copies == [2, 0])
        withExtendedLifetime(clock) {}
      }
    }

    @Test func theTargetsOfAQueueAreRead() {
      let target = dispatch_queue_create("target", nil)
      let between = dispatch_queue_create_with_target("between", nil, target)
      let queue = dispatch_queue_create_with_target("queue", nil, between)
      let onMain = dispatch_queue_create_with_target("on main", nil, dispatch_get_main_queue())
      #expect(BlockQueue(queue).targets.map(\.label) == ["between", "target"])
      #expect(BlockQueue(onMain).isMain)
      #expect(BlockQueue(onMain).description == "the queue \"on main\"")
      #expect(BlockQueue(target).targets.isEmpty && !BlockQueue(queue).isMain)
      [onMain, queue, between, target].forEach(DispatchObject.release)
    }

    /// A queue's counts move to another target together with it.
    @Test func aBlockWaitsOnTheTargetThatItsQueueHadLast() {
      let targets = (1...2).map { BlockQueue(label: "target", address: $0) }
      let queue = { BlockQueue(label: "queue", address: 3, targets: [targets[$0]]) }
      var blocks = DispatchedBlocks()
      blocks.noteStop(.ofAll, of: queue(0), 1)
      let onTargets = targets.map { blocks.begin(on: $0) }
      #expect(blocks.count == 1)
      blocks.noteStop(.sync, of: queue(1), 1)
      blocks.checkInvariants()
      blocks.end(onTargets[1])
      #expect(blocks.count == 1)
      for stop in [BlockQueue.Stop.sync, .ofAll] { blocks.noteStop(stop, of: queue(1), -1) }
      blocks.checkInvariants()
      blocks.end(onTargets[0])
    }

    /// A serial target runs one block at a time, whatever the queues are. A concurrent one runs them in parallel.
    @Test(arguments: [false, true]) func aBlockOfAnotherQueueHoldsTheTarget(_ isConcurrent: Bool) {
      let target = BlockQueue(label: "target", address: 1, isConcurrent: isConcurrent)
      var blocks = DispatchedBlocks()
      let all = (2...3).map { address in
        blocks.begin(on: BlockQueue(label: "queue", address: address, targets: [target]))
      }
      let (first, second) = (all[0], all[1])
      #expect(blocks.firstThatMayBegin == first && blocks.knownThreads == nil)
      blocks.run(first, on: 7)
      #expect(blocks.firstThatMayBegin == (isConcurrent ? second : nil))
      #expect(blocks.knownThreads == (isConcurrent ? nil : [7]))
      blocks.end(first)
      #expect(blocks.firstThatMayBegin == second)
      blocks.end(second)
    }

    @Test func aBlockBehindASyncCanRunAndCannotBegin() {
      withQueue { queue in
        var blocks = DispatchedBlocks()
        blocks.noteStop(.sync, of: queue, 1)
        let block = blocks.begin(on: queue)
        #expect(blocks.count == 1 && blocks.firstThatMayBegin == nil)
        blocks.noteStop(.sync, of: queue, -1)
        #expect(blocks.count == 1 && blocks.firstThatMayBegin != nil)
        blocks.end(block)
        #expect(blocks.count == 0)
      }
    }

    @Test(arguments: 1...200) func theCountFollowsEachChange(_ seed: UInt64) {
      var random = Mixer(seed: seed)
      let queues =
        [BlockQueue(label: "com.apple.main-thread")]
        + (1...2).map { BlockQueue(label: "s", address: $0) }
        + (3...4).map { BlockQueue(label: "c", address: $0, isConcurrent: true) }
        + (5...10).map { BlockQueue(label: "t", address: $0, isConcurrent: $0 > 8) }
      var blocks = DispatchedBlocks()
      var open: [UInt64] = []
      var stops: [(BlockQueue.Stop, BlockQueue)] = []
      for _ in 0..<60 {
        var queue = queues[Int.random(in: 0..<queues.count, using: &random)]
        if queue.address > 4 {
          // Its targets change from time to time.
          let first = Int.random(in: 0..<queues.count, using: &random)
          queue.targets = queues[first...].prefix(2).filter { $0.address < 5 }
        }
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1, 2:
          open.append(
            blocks.begin(on: queue, isBarrier: Int.random(in: 0..<3, using: &random) == 0))
        case 3: if let block = open.randomElement(using: &random) { blocks.run(block, on: 1) }
        case 4, 5:
          if let index = open.indices.randomElement(using: &random) {
            blocks.end(open.remove(at: index))
          }
        case 6:
          let stop = [BlockQueue.Stop.ofAll, .ofBarriers, .sync][
            Int.random(in: 0..<3, using: &random)]
          blocks.noteStop(stop, of: queue, 1)
          stops.append((stop, queue))
        case 7:
          if let (stop, queue) = stops.popLast() { blocks.noteStop(stop, of: queue, -1) }
        default:
          switch Int.random(in: 0..<3, using: &random) {
          case 0: blocks.isMainTaken.toggle()
          case 1: blocks.areLeftOut.toggle()
          default: _ = blocks.abandon()
          }
        }
        blocks.checkInvariants()
      }
    }

    /// Queues without blocks are forgotten, but not the queue of an abandoned block.
    @Test func anAbandonedBlockKeepsItsQueue() {
      var blocks = DispatchedBlocks()
      let block = blocks.begin(on: BlockQueue(label: "first", address: 1))
      #expect(blocks.abandon() == ["first"])
      for address: UInt in 2...100 {
        blocks.end(blocks.begin(on: BlockQueue(label: "other", address: address)))
        blocks.checkInvariants()
      }
      blocks.run(block, on: 1)
      #expect(blocks.count == 1 && blocks.abandon() == ["first"] && blocks.count == 0)
      blocks.end(block)
      blocks.checkInvariants()
      #expect(blocks.count == 0)
    }

    @Test func anAbandonedBlockCountsWhenItBegins() {
      withQueue { queue in
        var blocks = DispatchedBlocks()
        let (first, second) = (blocks.begin(on: queue), blocks.begin(on: queue))
        #expect(blocks.abandon() == ["one label", "one label"])
        #expect(blocks.count == 0 && blocks.abandon() == [])
        blocks.run(second, on: 1)
        #expect(blocks.count == 1 && blocks.threads == [1])
        blocks.end(first)
        #expect(blocks.count == 1)
        blocks.end(second)
        #expect(blocks.count == 0)
      }
    }
  }
#endif
