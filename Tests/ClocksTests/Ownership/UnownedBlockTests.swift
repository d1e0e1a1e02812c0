import Synchronization
import TestTraits
import Testing

@testable import Clocks

/// An owner that records the calls about blocks.
private final class RecordingOwner: TaskOwner, @unchecked Sendable {
  let events = Log<String>()
  private let newest = Atomic<UInt64>(0)

  init() { super.init(isVirtual: false) }

  override func workBegan(on queue: BlockQueue, isBarrier: Bool) -> UInt64 {
    let number = newest.add(1, ordering: .relaxed).newValue
    events.add("\(number) on \(queue.label)\(isBarrier ? ", barrier" : "")")
    return number
  }

  override func workRuns(_ number: UInt64, on thread: Int32?, mark: UInt) {
    events.add("\(number) runs at \(mark)")
  }

  override func workEnded(_ number: UInt64) { events.add("\(number) ended") }
}

@Suite struct UnownedBlockTests {
  private static let newest = Atomic<UInt64>(0)

  private let owner = RecordingOwner()
  /// No task has such an id.
  private let testCase = UInt64.max - newest.add(1, ordering: .relaxed).newValue

  private func block(_ label: String, isBarrier: Bool = false, former: TaskOwner? = nil)
    -> UnownedBlock
  {
    UnownedBlock(
      on: .known(BlockQueue(label: label)), isBarrier: isBarrier, of: testCase, former: former)
  }

  private func adopt() { UnownedBlock.adoptAll(of: testCase, by: owner) }

  @Test func theNextOwnerCountsTheBlocksInTheirOrder() {
    let blocks = [block("a"), block("b", isBarrier: true), block("c")]
    for block in blocks { block.submit() }
    #expect(blocks.allSatisfy { $0.owner == nil })
    adopt()
    #expect(blocks.allSatisfy { $0.owner === owner })
    #expect(owner.events.all == ["1 on a", "2 on b, barrier", "3 on c"])
    for block in blocks { block.end() }
    #expect(owner.events.all.suffix(3) == ["1 ended", "2 ended", "3 ended"])
  }

  @Test func theOwnerIsToldThatABlockRuns() {
    let (before, after) = (block("a"), block("b"))
    before.submit()
    after.submit()
    before.begin(mark: 7)
    adopt()
    after.begin(mark: 8)
    #expect(owner.events.all == ["1 on a", "1 runs at 7", "2 on b", "2 runs at 8"])
    before.end()
    after.end()
  }

  @Test func ownersThatComeLaterDoNotCountTheBlocks() {
    let block = block("a")
    block.submit()
    adopt()
    let other = RecordingOwner()
    block.submit()
    UnownedBlock.adoptAll(of: testCase, by: other)
    block.end()
    #expect(owner.events.all == ["1 on a", "1 ended"])
    #expect(other.events.all == [])
  }

  /// Thread A reads an owner's blocks, thread B ends one of them, and then A submits it.
  @Test func aBlockThatHasEndedIsNotCounted() {
    let (early, late) = (block("a"), block("b"))
    early.submit()
    early.end()
    late.end()
    late.submit()
    adopt()
    #expect(owner.events.all == [])
  }

  @Test func aFormerOwnerDoesNotCountItsBlocksAgain() {
    let block = block("a", former: owner)
    block.submit()
    adopt()
    #expect(owner.events.all == [])
    let next = RecordingOwner()
    block.submit()
    UnownedBlock.adoptAll(of: testCase, by: next)
    block.end()
    #expect(next.events.all == ["1 on a", "1 ended"])
  }

  /// Thread A adopts the test case while thread B runs the block.
  @Test func aBlockBeginsAndEndsWhileItIsAdopted() async {
    for round in 0..<2_000 {
      let (owner, block) = (RecordingOwner(), block("a"))
      block.submit()
      let runs = Task.detached {
        for _ in 0..<round % 50 { await Task.yield() }
        block.begin(mark: 1)
        block.end()
      }
      for _ in 0..<(round * 7) % 50 { await Task.yield() }
      UnownedBlock.adoptAll(of: testCase, by: owner)
      await runs.value
      let events = owner.events.all
      let isWhole = events.first == "1 on a" && events.last == "1 ended" && events.count > 2
      #expect(events.isEmpty || isWhole, "\(events)")
    }
  }
}
