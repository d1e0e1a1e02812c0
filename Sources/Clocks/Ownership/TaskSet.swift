/// A set of tasks, by their ids.
///
/// The runtime numbers tasks in the order in which it makes them, so the ids lie close together: each
/// costs a bit, in chunks of 4,096. Adding, looking up, and removing: expected O(1).
struct TaskSet {
  private static let chunkBits: UInt64 = 12

  /// The bits of each chunk in which an id is, by the chunk's number.
  private var chunks: [UInt64: [UInt64]] = [:]

  mutating func insert(_ id: UInt64) {
    let empty = [UInt64](repeating: 0, count: 1 << Int(Self.chunkBits) / 64)
    chunks[id >> Self.chunkBits, default: empty][Self.word(of: id)] |= 1 << (id & 63)
  }

  func contains(_ id: UInt64) -> Bool {
    guard let chunk = chunks[id >> Self.chunkBits] else { return false }
    return chunk[Self.word(of: id)] & 1 << (id & 63) != 0
  }

  mutating func remove(_ id: UInt64) {
    chunks[id >> Self.chunkBits]?[Self.word(of: id)] &= ~(1 << (id & 63))
  }

  /// Removes all ids that are in chunks whose last id is `id` or an earlier one. O(chunks).
  mutating func removeChunks(upTo id: UInt64) {
    chunks = chunks.filter { ($0.key + 1) << Self.chunkBits > id + 1 }
  }

  mutating func removeAll() { chunks = [:] }

  /// The number of chunks; each takes 512 bytes.
  var chunkCount: Int { chunks.count }

  private static func word(of id: UInt64) -> Int {
    Int(truncatingIfNeeded: id >> 6) & (1 << Int(chunkBits) / 64 - 1)
  }
}
