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

    /// A test is idle while a block waits for a paused one of its own serial queue, and of no other queue.
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

    /// Another thread resumes the queue, which was suspended outside the test, while the test suspends it again.
    @Test func aSuspensionIsNotTakenBackBeforeItCounts() {
      let queue = dispatch_queue_create("suspended", nil)
      let owner = CountingOwner(isVirtual: true)
      var isFirst = true
      owner.stopChanges = {
        guard isFirst else { return }
        isFirst = false
        SuspendedQueues.willResume(queue)
      }
      SuspendedQueues.wasSuspended(queue, of: owner)
      #expect(owner.stops(of: BlockQueue(queue)) == 1)
      SuspendedQueues.willResume(queue)
      #expect(owner.stops(of: BlockQueue(queue)) == 0)
      DispatchObject.release(queue)
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
      var blocks = DispatchedBlocks()
      var open: [UInt64] = []
      var stops: [(BlockQueue.Stop, BlockQueue)] = []
      for _ in 0..<60 {
        let queue = queues[Int.random(in: 0..<queues.count, using: &random)]
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
