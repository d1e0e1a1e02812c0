import ClocksSearch
import Testing

@testable import Clocks

/// The table of tasks, compared with a dictionary.
@Suite struct TaskTableTests {
  @Test(.repeated(20)) func behavesLikeADictionary() {
    let seed = UInt64(RepeatedTrait.number)
    var random = Mixer(seed: seed)
    let schedulers = (0..<3).map { _ in Scheduler(origin: .here()) }
    var table = OwnerTable()
    var model: [UInt64: Int] = [:]
    for _ in 0..<5_000 {
      // Few different ids, some of which collide.
      let id = UInt64.random(in: 1...60, using: &random) << (random.next() % 2 == 0 ? 0 : 20)
      let owner = Int.random(in: 0..<3, using: &random)
      switch UInt8.random(in: 0..<3, using: &random) {
      case 0:
        table.set(id, to: schedulers[owner])
        model[id] = owner
      case 1:
        table.remove(id, of: schedulers[owner])
        if model[id] == owner { model[id] = nil }
      default:
        #expect(table[id] === model[id].map { schedulers[$0] })
      }
      #expect(table.count == model.count)
    }
    table.checkInvariants()
  }

  @Test func aTableOfFormerTasksShrinks() {
    let scheduler = Scheduler(origin: .here())
    var table = OwnerTable()
    let kept = Set((1...10).map { UInt64($0 * 7_919) })
    for id in 1...UInt64(100_000) { table.set(id, to: scheduler) }
    #expect(table.length == 16_384)
    for id in 1...UInt64(100_000) where !kept.contains(id) { table.remove(id, of: scheduler) }
    table.shrink()
    table.checkInvariants()
    #expect(table.length == 64)
    #expect(table.count == 10)
    #expect(kept.allSatisfy { table[$0] === scheduler })
    // A short table, and one that is in use, stay as they are.
    for id in 1...UInt64(4_096) { table.set(id, to: scheduler) }
    let length = table.length
    table.shrink()
    #expect(table.length == length)
  }

  /// If the cost of an operation grew with the number of tasks, this would take hours.
  @Test(.timeLimit(.minutes(10))) func manyConsecutiveTasksComeAndGo() {
    let scheduler = Scheduler(origin: .here())
    var table = OwnerTable()
    let ids: ClosedRange<UInt64> = 1_000...201_000
    for id in ids { table.set(id, to: scheduler) }
    #expect(table.count == 200_001)
    // Unknown ids, some of which collide with known ones.
    for id in ids where !isUnknown(id << 21, in: table) { Issue.record("\(id << 21) is known") }
    for id in ids { table.remove(id, of: scheduler) }
    #expect(table.count == 0)
    for id in ids where !isUnknown(id, in: table) { Issue.record("\(id) is known") }
  }

  private func isUnknown(_ id: UInt64, in table: borrowing OwnerTable) -> Bool {
    table[id] == nil
  }
}
