import Testing

@testable import Clocks

@Suite struct MainQueueOrderTests {
  private let order = MainQueueOrder()
  private let submitted = Log<UInt64>()

  private func blockIsReady(_ number: UInt64, behind jobs: Int) {
    order.blockIsReady(number, behind: jobs) { [submitted] in submitted.add(number) }
  }

  @Test func aBlockBehindNoJobIsSubmittedAndHoldsJobsBack() {
    #expect(!order.areBlocksAhead)
    blockIsReady(1, behind: 0)
    #expect(submitted.all == [1])
    #expect(order.areBlocksAhead)
    order.blockEnds(1)
    #expect(!order.areBlocksAhead)
  }

  @Test func aBlockIsSubmittedWhenTheJobsBeforeItHaveBegun() {
    order.jobBegins()
    blockIsReady(1, behind: 2)
    blockIsReady(2, behind: 2)
    blockIsReady(3, behind: 3)
    #expect(!order.areBlocksAhead)
    order.jobBegins()
    #expect(submitted.all.isEmpty)
    order.jobBegins()
    #expect(submitted.all == [1, 2])
    order.blockEnds(1)
    #expect(order.areBlocksAhead)
    order.blockEnds(2)
    #expect(!order.areBlocksAhead)
    order.jobBegins()
    #expect(submitted.all == [1, 2, 3])
  }

  @Test func allBlocksAreSubmittedInTheirOrder() {
    for number: UInt64 in 1...3 { blockIsReady(number, behind: Int(number)) }
    order.submitAll()
    #expect(submitted.all == [1, 2, 3])
    order.abandonBlocks()
    #expect(!order.areBlocksAhead)
    order.jobBegins()
    #expect(submitted.all == [1, 2, 3])
  }

  @Test func aJobThatHoldsItsThreadLetsBlocksRun() {
    blockIsReady(1, behind: 1)
    order.submitIfHeld(by: nil)
    order.submitIfHeld(by: nil)
    order.submitIfHeld(by: 7)
    order.submitIfHeld(by: 8)
    #expect(submitted.all.isEmpty)
    order.submitIfHeld(by: 8)
    #expect(submitted.all == [1])
  }
}
