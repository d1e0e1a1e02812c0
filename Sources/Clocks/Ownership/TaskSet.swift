/// A set of task ids: one bit each, in chunks of 4,096, because ids lie close together. Each operation on one id is
/// expected O(1).
struct TaskSet {
  private static let chunkBits: UInt64 = 12

  private typealias Chunk = (number: UInt64, words: [UInt64])

  /// The chunk of the last inserted id, kept apart because the next id is nearly always in the same chunk.
  private var latest: Chunk?
  private var chunks: [UInt64: [UInt64]] = [:]

  mutating func insert(_ id: UInt64) {
    let number = id >> Self.chunkBits
    if latest?.number != number { makeLatest(number) }
    latest!.words[Self.word(of: id)] |= 1 << (id & 63)
  }

  private mutating func makeLatest(_ number: UInt64) {
    if let latest { chunks[latest.number] = latest.words }
    let empty = [UInt64](repeating: 0, count: 1 << Int(Self.chunkBits) / 64)
    latest = (number, chunks.removeValue(forKey: number) ?? empty)
  }

  func contains(_ id: UInt64) -> Bool {
    let number = id >> Self.chunkBits
    if let latest, latest.number == number { return Self.contains(latest.words, id) }
    guard !chunks.isEmpty, let words = chunks[number] else { return false }
    return Self.contains(words, id)
  }

  private static func contains(_ words: [UInt64], _ id: UInt64) -> Bool {
    words[word(of: id)] & 1 << (id & 63) != 0
  }

  /// Removes all chunks whose last id is at most `id`. O(chunks).
  mutating func removeChunks(upTo id: UInt64) {
    func isYounger(_ number: UInt64) -> Bool { (number + 1) << Self.chunkBits - 1 > id }
    chunks = chunks.filter { isYounger($0.key) }
    if let latest, !isYounger(latest.number) { self.latest = nil }
  }

  /// The number of chunks; each takes 512 bytes.
  var chunkCount: Int { chunks.count + (latest == nil ? 0 : 1) }

  private static func word(of id: UInt64) -> Int {
    Int(truncatingIfNeeded: id >> 6) & (1 << Int(chunkBits) / 64 - 1)
  }
}
