/// Jobs in the order in which they became ready: a ring buffer.
///
/// In memory of its own and not in an Array, each use of which is a call of a generic function in a
/// debug build.
struct JobQueue: ~Copyable {
  /// The places of jobs; as many as `capacity` says.
  private var places: UnsafeMutablePointer<ReadyJob>?
  /// A power of two or zero, so that a position wraps with a mask.
  private var capacity = 0
  /// The place of the first job.
  private var head = 0
  /// The number of jobs; they stand in as many consecutive places, from `head` on.
  private(set) var count = 0

  deinit { places?.deallocate() }

  var isEmpty: Bool { count == 0 }

  /// The job that `remove(at: position)` would remove. O(1).
  subscript(position: Int) -> ReadyJob {
    @_transparent get {
      precondition(position >= 0 && position < count)
      return places![(head + position) & (capacity - 1)]
    }
  }

  /// The jobs of tasks, in their order. O(n).
  var tasks: [UnownedJob] {
    var tasks: [UnownedJob] = []
    for position in 0..<count where self[position].taskID != 0 { tasks.append(self[position].job) }
    return tasks
  }

  /// Adds a job behind all others. Amortized O(1).
  @inline(__always)
  mutating func append(_ job: ReadyJob) {
    if count == capacity { grow() }
    places![(head + count) & (capacity - 1)] = job
    count += 1
  }

  /// Removes the job at `position`; the others keep their order. O(1) at position 0, else
  /// O(position).
  @inline(__always)
  mutating func remove(at position: Int) -> ReadyJob {
    let mask = capacity - 1
    let job = self[position]
    guard let places else { return job }
    var hole = position
    while hole > 0 {
      places[(head + hole) & mask] = places[(head + hole - 1) & mask]
      hole -= 1
    }
    head = (head + 1) & mask
    count -= 1
    return job
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<ReadyJob>.allocate(capacity: max(16, capacity * 2))
    for position in 0..<count { larger[position] = self[position] }
    places?.deallocate()
    places = larger
    capacity = max(16, capacity * 2)
    head = 0
  }

  /// Stops the program if the queue is out of order. O(n); for tests.
  func checkInvariants() {
    precondition(capacity & (capacity - 1) == 0, "a buffer that does not wrap")
    precondition(capacity == 0 ? head == 0 : 0..<capacity ~= head, "a lost beginning")
    precondition(0...capacity ~= count, "miscounted jobs")
    precondition((places == nil) == (capacity == 0), "a buffer without places")
  }
}
