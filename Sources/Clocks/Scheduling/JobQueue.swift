/// The threads on which a job may run.
enum Lane: UInt8, Sendable {
  /// Any thread of the default executor.
  case pool
  /// The main thread only.
  case main
}

/// The ready jobs of one scheduler, in the order in which they became ready.
///
/// A ring buffer. Its scheduler's lock guards it.
struct JobQueue {
  struct Entry {
    var job: UnownedJob
    var taskID: UInt64
    var lane: Lane
  }

  /// Its count is a power of two or zero, so that a position wraps with a mask.
  private var buffer: [Entry?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The job that `remove(at: position)` would remove. O(1).
  @inline(__always)
  subscript(position: Int) -> Entry {
    buffer[(head + position) & (buffer.count - 1)].unsafelyUnwrapped
  }

  /// Adds a job behind all others. Amortized O(1).
  @inline(__always)
  mutating func append(_ entry: Entry) {
    if count == buffer.count { grow() }
    buffer[(head + count) & (buffer.count - 1)] = entry
    count += 1
  }

  /// Removes the job at `position`; the others keep their order. O(1) at position 0, else
  /// O(position).
  @inline(__always)
  mutating func remove(at position: Int) -> Entry {
    let mask = buffer.count - 1
    let entry = self[position]
    var hole = position
    while hole > 0 {
      buffer[(head + hole) & mask] = buffer[(head + hole - 1) & mask]
      hole -= 1
    }
    buffer[head] = nil
    head = (head + 1) & mask
    count -= 1
    return entry
  }

  private mutating func grow() {
    var larger = [Entry?](repeating: nil, count: max(16, buffer.count * 2))
    for position in 0..<count { larger[position] = self[position] }
    buffer = larger
    head = 0
  }
}
