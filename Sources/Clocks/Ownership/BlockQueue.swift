/// The queue of a `DispatchQueue.sync` that is under way.
struct SyncQueue {
  let queue: BlockQueue
  /// The other blocks of the queue that cannot begin while the thread waits.
  let stop: BlockQueue.Stop
  /// The call of `sync` around this one on the same thread.
  let outer: UnsafePointer<SyncQueue>?
}

/// A dispatch queue, or something else on which blocks of a test run.
struct BlockQueue: Hashable, Sendable {
  let label: String
  /// The address of a dispatch queue, which tells queues with one label apart; 0 if there is none.
  var address: UInt = 0
  /// While a block of a concurrent queue waits, those behind it can begin.
  var isConcurrent = false
  /// The queue's target, that queue's target, and so on; without the global queues.
  ///
  /// Equal queues may have different targets, because a queue's target can change.
  var targets: [BlockQueue] = []

  static func == (a: Self, b: Self) -> Bool {
    a.address == b.address && a.isConcurrent == b.isConcurrent && a.label == b.label
  }

  func hash(into hasher: inout Hasher) {
    if address == 0 { hasher.combine(label) } else { hasher.combine(address) }
  }

  /// Which blocks of a queue cannot begin: all; barriers and those behind one; or all until a running `sync` ends.
  enum Stop: Sendable {
    case ofAll
    case ofBarriers
    case sync
  }

  /// Returns which other blocks of the queue cannot begin while one of its blocks waits.
  func stop(by isBarrier: Bool) -> Stop { isConcurrent && !isBarrier ? .ofBarriers : .ofAll }

  /// For example `the queue "orders"`.
  var description: String {
    address == 0 ? label : isMainItself ? "the main queue" : "the queue \"\(label)\""
  }

  /// Whether the blocks run on the main thread.
  var isMain: Bool { isMainItself || targets.contains(where: \.isMainItself) }
  private var isMainItself: Bool { label == "com.apple.main-thread" }

  /// Whether the queue is suspended or inactive.
  var isSuspended: Bool { SuspendedQueues.contains(self) }

  // Work of these kinds counts as dispatched blocks. All kinds but the first occur only in unedited suites.
  static let isolatedDeinit = BlockQueue(label: "isolated deinit", isConcurrent: true)
  static let thread = BlockQueue(label: "a thread that the test has started")
  static let executor = BlockQueue(label: "a custom executor", isConcurrent: true)
  static let parallelJob = BlockQueue(label: "a task that does not suspend")
}
