/// A hash table from words to words.
///
/// In a debug build, a use of a Dictionary takes three hundred instructions and more, because its functions are
/// generic. A table is an object, so that it is not copied together with a struct that uses it. Only one thread at a
/// time uses a table. All operations on one key are expected O(1), amortized where the table grows.
package final class WordTable: @unchecked Sendable {
  /// For each place a key plus 1, or 0 if the place is empty. At most half of the places are in use.
  private var keys: UnsafeMutablePointer<UInt64>
  private var values: UnsafeMutablePointer<UInt64>
  /// The number of places, a power of two.
  private var length = 32
  package private(set) var count = 0

  package init() {
    keys = .allocate(capacity: length)
    keys.initialize(repeating: 0, count: length)
    values = .allocate(capacity: length)
  }

  deinit {
    keys.deallocate()
    values.deallocate()
  }

  /// The value of a key, which must not be `UInt64.max`.
  package subscript(key: UInt64) -> UInt64? {
    let place = place(of: key)
    return keys[place] == 0 ? nil : values[place]
  }

  package func set(_ key: UInt64, to value: UInt64) {
    var place = place(of: key)
    if keys[place] == 0 {
      if count * 2 >= length {
        grow()
        place = self.place(of: key)
      }
      count += 1
      keys[place] = key + 1
    }
    values[place] = value
  }

  /// Removes all keys, and keeps the memory. O(places).
  package func removeAll() {
    if count > 0 { keys.update(repeating: 0, count: length) }
    count = 0
  }

  /// Returns the place of a key, or the place for it.
  private func place(of key: UInt64) -> Int {
    // Fibonacci hashing spreads neighbours (Knuth, The Art of Computer Programming, volume 3, 6.4).
    // Each further local variable would cost a debug build some twenty instructions.
    var place = Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 32) & (length - 1)
    while keys[place] != 0, keys[place] != key + 1 { place = (place + 1) & (length - 1) }
    return place
  }

  private func grow() {
    let old = (keys: keys, values: values, length: length)
    length *= 2
    keys = .allocate(capacity: length)
    keys.initialize(repeating: 0, count: length)
    values = .allocate(capacity: length)
    for index in 0..<old.length where old.keys[index] != 0 {
      let place = place(of: old.keys[index] - 1)
      keys[place] = old.keys[index]
      values[place] = old.values[index]
    }
    old.keys.deallocate()
    old.values.deallocate()
  }
}
