import Testing

@testable import Clocks

@Suite struct SeedTests {
  /// Seed 0 is first in, first out.
  @Test func noLaterOrderIsFirstInFirstOut() {
    #expect(EverywhereSettings.seeds(after: 1, count: 0) == [])
    #expect(EverywhereSettings.seeds(after: 0, count: 3) == [1, 2, 3])
    #expect(EverywhereSettings.seeds(after: 17, count: 2) == [18, 19])
    #expect(EverywhereSettings.seeds(after: .max - 1, count: 3) == [.max, 1, 2])
    #expect(EverywhereSettings.seeds(after: .max, count: 2) == [1, 2])
  }
}
