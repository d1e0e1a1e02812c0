/// Jobs in the order in which they became ready: a ring buffer.
struct JobQueue {
  /// The jobs, and empty places. Its count is a power of two or zero, so that a position wraps with
  /// a mask.
  private var buffer: [ReadyJob?] = []
  /// The place of the first job.
  private var head = 0
  /// The number of jobs; they stand in as many consecutive places, from `head` on.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The job that `remove(at: position)` would remove. O(1).
  @inline(__always)
  subscript(position: Int) -> ReadyJob {
    buffer[(head + position) & (buffer.count - 1)].unsafelyUnwrapped
  }

  /// The jobs of tasks, in their order. O(n).
  var tasks: [UnownedJob] {
    (0..<count).map { self[$0] }.filter { $0.taskID != 0 }.map(\.job)
  }

  /// Adds a job behind all others. Amortized O(1).
  @inline(__always)
  mutating func append(_ job: ReadyJob) {
    if count == buffer.count { grow() }
    buffer[(head + count) & (buffer.count - 1)] = job
    count += 1
  }

  /// Removes the job at `position`; the others keep their order. O(1) at position 0, else
  /// O(position).
  @inline(__always)
  mutating func remove(at position: Int) -> ReadyJob {
    let mask = buffer.count - 1
    let job = self[position]
    var hole = position
    while hole > 0 {
      buffer[(head + hole) & mask] = buffer[(head + hole - 1) & mask]
      hole -= 1
    }
    buffer[head] = nil
    head = (head + 1) & mask
    count -= 1
    return job
  }

  private mutating func grow() {
    var larger = [ReadyJob?](repeating: nil, count: max(16, buffer.count * 2))
    for position in 0..<count { larger[position] = self[position] }
    buffer = larger
    head = 0
  }

  /// Stops the program if the queue is out of order. O(n); for tests.
  func checkInvariants() {
    precondition(buffer.count & (buffer.count - 1) == 0, "a buffer that does not wrap")
    precondition(buffer.isEmpty ? head == 0 : buffer.indices.contains(head), "a lost beginning")
    precondition(buffer.count { $0 != nil } == count, "miscounted jobs")
    precondition(
      (0..<count).allSatisfy { buffer[(head + $0) & (buffer.count - 1)] != nil }, "a gap")
  }
}
