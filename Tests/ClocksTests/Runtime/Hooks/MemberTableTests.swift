import ClocksSearch
import ClocksSupport
import Testing

@testable import Clocks

/// The table of the test cases' members, compared with a dictionary.
@Suite struct MemberTableTests {
  @Test(.repeated(20)) func behavesLikeADictionary() {
    let seed = UInt64(RepeatedTrait.number)
    var random = Mixer(seed: seed)
    var table = MemberTable()
    var model: [UInt64: UInt] = [:]
    for number in UInt(1)...5_000 {
      // Few different ids, some of which collide.
      let id = UInt64.random(in: 1...60, using: &random) << (random.next() % 2 == 0 ? 0 : 38)
      if model[id] == nil {
        table.insert(Member(id: id, testCase: id + 1, word: number))
        model[id] = number
      } else if UInt8.random(in: 0..<2, using: &random) == 0 {
        #expect(table.remove(id) == model.removeValue(forKey: id))
        #expect(table.remove(id) == 0)
      }
      #expect(table.address(of: id)?.pointee.word == model[id])
      #expect(table.count == model.count)
    }
    table.checkInvariants()
    #expect(Dictionary(uniqueKeysWithValues: table.all.map { ($0.id, $0.word) }) == model)
    #expect(table.all.allSatisfy { $0.testCase == $0.id + 1 })
  }

  @Test func tasksThatAreOverAreRemovedAndTheTableShrinks() async throws {
    let over = Task {}
    await over.value
    let waiting = try #require(ThreadContext.capturingNextJob { Task.detached {} })
    defer { ThreadContext.runToEnd(waiting) }
    let words = (unsafeBitCast(over, to: UInt.self), unsafeBitCast(waiting, to: UInt.self))
    var table = MemberTable()
    // Ids that no running task has.
    let base: UInt64 = 1 << 40
    for number in UInt64(1)...10_000 {
      let isWaiting = number % 100 == 0
      table.insert(
        Member(id: base + number, testCase: 1, word: isWaiting ? words.1 : words.0))
    }
    #expect(table.length == 32_768)
    var removed = ScratchBuffer<UInt>()
    table.removeEnded(&removed)
    table.checkInvariants()
    #expect(removed.count == 9_900)
    #expect(removed.all.allSatisfy { $0 == words.0 })
    #expect(table.all.map(\.id).sorted() == (1...100).map { base + $0 * 100 })
    #expect(table.length == 512)
  }
}
