import ClocksSearch
import ClocksSupport
import TestTraits
import Testing

@testable import Clocks

@Suite struct WordTableTests {
  @Test(.repeated(20)) func behavesLikeADictionary() {
    var random = Mixer(seed: UInt64(RepeatedTrait.number))
    let table = WordTable()
    var model: [UInt64: UInt64] = [:]
    for _ in 0..<5_000 {
      // Small keys, and keys that differ only in their high bits.
      let key =
        UInt64.random(in: 0...60, using: &random) << [0, 20, 58].randomElement(using: &random)!
      switch random.next() % 200 {
      case 0:
        table.removeAll()
        model = [:]
      case 1..<120:
        let value = random.next()
        table.set(key, to: value)
        model[key] = value
      default: break
      }
      #expect(table[key] == model[key])
      #expect(table.count == model.count)
    }
    table.set(.max - 1, to: 7)
    #expect(table[.max - 1] == 7)
    for (key, value) in model { #expect(table[key] == value) }
  }
}

@Suite struct ScratchBufferTests {
  @Test(.repeated(20)) func behavesLikeAnArray() {
    var random = Mixer(seed: UInt64(RepeatedTrait.number))
    var buffer = ScratchBuffer<Int>()
    var model: [Int] = []
    for number in 0..<2_000 {
      switch random.next() % 100 {
      case 0:
        let kept = Int.random(in: 0...model.count, using: &random)
        buffer.keepFirst(kept)
        model.removeLast(model.count - kept)
      case 1:
        buffer.removeAll(where: { $0 % 3 == 0 })
        model.removeAll { $0 % 3 == 0 }
      case 2..<40 where !model.isEmpty:
        let index = Int.random(in: model.indices, using: &random)
        #expect(buffer.remove(at: index) == model.remove(at: index))
      default:
        buffer.append(number)
        model.append(number)
      }
      #expect(buffer.all == model)
    }
  }
}
