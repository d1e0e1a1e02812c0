import Testing

@testable import Clocks

/// The set of tasks, which has one bit for each task.
@Suite struct TaskSetTests {
  @Test func containsInsertedTasks() {
    var set = TaskSet()
    for id: UInt64 in [0, 63, 64, 4_095, 4_096, 1_000_000] { set.insert(id) }
    let around: [UInt64] = [
      0, 1, 62, 63, 64, 65, 127, 4_094, 4_095, 4_096, 4_097, 999_999, 1_000_000,
    ]
    #expect(around.filter(set.contains) == [0, 63, 64, 4_095, 4_096, 1_000_000])
    #expect(set.chunkCount == 3)
    // Back to a chunk that is not the latest one.
    set.insert(127)
    #expect(around.filter(set.contains) == [0, 63, 64, 127, 4_095, 4_096, 1_000_000])
  }

  @Test func removesOnlyChunksThatHaveEnded() {
    var set = TaskSet()
    for id: UInt64 in [5, 4_100, 8_200] { set.insert(id) }
    set.removeChunks(upTo: 4_094)
    #expect(set.chunkCount == 3)
    set.removeChunks(upTo: 4_095)
    #expect([5, 4_100, 8_200].filter(set.contains) == [4_100, 8_200])
    set.removeChunks(upTo: 8_190)
    #expect(set.chunkCount == 2)
    set.removeChunks(upTo: 8_191)
    #expect([5, 4_100, 8_200].filter(set.contains) == [8_200])
    set.removeChunks(upTo: .max)
    #expect(set.chunkCount == 0)
  }
}
