#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
  import CDispatch
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
          idleness.dispatchedBlocks.notePaused(on: paused, 1)
          let waiting = idleness.dispatchedBlocks.begin(on: paused)
          #expect(idleness.isIdle == true)
          let ready = idleness.dispatchedBlocks.begin(on: other)
          #expect(idleness.isIdle == false)
          idleness.dispatchedBlocks.end(ready)
          idleness.dispatchedBlocks.end(waiting)
        }
      }
    }

    @Test func blocksGoOnBesideAPausedOneOfAConcurrentQueue() {
      withQueue(isConcurrent: true) { queue in
        var idleness = Idleness()
        idleness.dispatchedBlocks.notePaused(on: queue, 1)
        let ready = idleness.dispatchedBlocks.begin(on: queue)
        #expect(idleness.isIdle == false)
        idleness.dispatchedBlocks.end(ready)
      }
    }
  }
#endif
