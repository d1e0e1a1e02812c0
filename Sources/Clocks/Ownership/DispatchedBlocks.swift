/// The blocks of a test on dispatch queues. The test is not idle while one of them can run.
struct DispatchedBlocks {
  private struct Block {
    let queue: Queue
    let isBarrier: Bool
    /// The thread on which it runs, 0 if that is not known; `nil` until the block begins.
    var thread: Int32?
    /// An address on the stack of that thread, above the frames of the block; 0 if it is not known.
    var mark: UInt = 0
    /// Whether the test no longer waits for the block. If the block begins after that, it counts again.
    var isAbandoned = false
  }

  /// Counts of what keeps the blocks of one queue from beginning.
  private struct Stops {
    /// Blocks of a serial queue, barriers and `sync` calls that wait in virtual time, and suspensions of the queue.
    /// While there are any, no block can begin.
    var all = 0
    /// Other blocks of a concurrent queue that wait in virtual time. While there are any, barriers and the blocks
    /// behind them cannot begin.
    var barriers = 0
    /// Running `sync` calls. Such a call may still end, so the blocks behind it count as able to run.
    var syncs = 0
  }

  /// A queue, and counts of its blocks: a test may have thousands.
  private final class Queue {
    let identity: BlockQueue
    let isMain: Bool
    @exclusivity(unchecked) var stops = Stops()
    /// All blocks on the queue, also abandoned ones.
    @exclusivity(unchecked) var all = 0
    /// The blocks that have begun, also abandoned ones; and the barriers among them.
    @exclusivity(unchecked) var begun = 0
    @exclusivity(unchecked) var begunBarriers = 0
    /// The blocks that have begun, without abandoned ones.
    @exclusivity(unchecked) var running = 0
    /// The blocks that have not begun, without abandoned ones.
    @exclusivity(unchecked) var waiting = 0
    /// The numbers of all barriers that have not begun, in their order.
    @exclusivity(unchecked) var waitingBarriers: [UInt64] = []
    /// The number of blocks that can run.
    @exclusivity(unchecked) var count = 0

    init(_ queue: BlockQueue) {
      identity = queue
      isMain = queue.isMain
    }

    /// Whether the test has nothing on the queue, so that this need not be kept.
    var isUnused: Bool {
      all == 0 && stops.all == 0 && stops.barriers == 0 && stops.syncs == 0
    }

    /// Counts a block in its present state (`change` is 1), or no longer (-1).
    func add(_ number: UInt64, _ block: Block, _ change: Int) {
      all += change
      if block.thread != nil {
        begun += change
        if block.isBarrier { begunBarriers += change }
        if !block.isAbandoned { running += change }
      } else {
        if !block.isAbandoned { waiting += change }
        guard block.isBarrier else { return }
        // Only the newest block is added before it has begun.
        if change > 0 {
          waitingBarriers.append(number)
        } else if waitingBarriers.first == number {
          waitingBarriers.removeFirst()
        } else {
          waitingBarriers.removeAll { $0 == number }
        }
      }
    }

    /// Whether a block that has not begun is behind a barrier that has not, or is such a barrier.
    func isBehindBarrier(_ number: UInt64) -> Bool {
      waitingBarriers.first.map { $0 <= number } ?? false
    }

    /// Whether anything but a running `sync` keeps a block from beginning.
    func isStopped(_ number: UInt64) -> Bool {
      stops.all > 0 || stops.barriers > 0 && isBehindBarrier(number)
    }
  }

  // Few variables are references, because each costs a reference count whenever the scheduler's state is read.
  private var blocks: [UInt64: Block] = [:]
  private var queues: [BlockQueue: Queue] = [:]
  /// The size of `queues` at which those that are not used are removed.
  private var mostQueues = 32
  private var newest: UInt64 = 0
  /// Counts the submissions, beginnings and ends of blocks: while this count stays the same, no block makes progress.
  private(set) var changes: UInt64 = 0
  /// The sum of `Queue.count`.
  private var total = 0
  /// The number of blocks that can run. Stored, because the state is read more often than blocks change.
  private(set) var count = 0

  /// Whether a paused, parallel or abandoned job holds the main thread, so that no block of the main queue can run.
  var isMainTaken = false {
    didSet {
      guard isMainTaken != oldValue else { return }
      for queue in queues.values where queue.isMain { countAgain(queue) }
    }
  }

  /// Whether the blocks are disregarded while time moves by one step, because the process is idle (`IdleProcess`).
  var areLeftOut = false {
    didSet { count = areLeftOut ? 0 : total }
  }

  /// Whether a block for which the test no longer waits holds the main thread. O(blocks).
  var isMainAbandoned: Bool {
    blocks.values.contains { $0.isAbandoned && $0.queue.isMain && $0.thread != nil }
  }

  mutating func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {
    let queue = entry(of: queue)
    switch stop {
    case .ofAll: queue.stops.all += change
    case .ofBarriers: queue.stops.barriers += change
    case .sync: queue.stops.syncs += change
    }
    countAgain(queue)
  }

  /// Amortized O(1).
  private mutating func entry(of queue: BlockQueue) -> Queue {
    if let entry = queues[queue] { return entry }
    if queues.count >= mostQueues {
      queues = queues.filter { !$0.value.isUnused }
      mostQueues = max(32, 2 * queues.count)
    }
    let entry = Queue(queue)
    queues[queue] = entry
    return entry
  }

  /// O(1), or O(blocks) while a barrier waits for blocks that wait in virtual time.
  private mutating func countAgain(_ queue: Queue) {
    total -= queue.count
    if isMainTaken && queue.isMain {
      queue.count = 0
    } else if queue.stops.all > 0 {
      queue.count = queue.running
    } else if queue.stops.barriers > 0, !queue.waitingBarriers.isEmpty {
      let ready = blocks.lazy.filter { number, block in
        block.queue === queue && block.thread == nil && !block.isAbandoned
          && !queue.isBehindBarrier(number)
      }
      queue.count = queue.running + ready.count
    } else {
      queue.count = queue.running + queue.waiting
    }
    total += queue.count
    count = areLeftOut ? 0 : total
  }

  /// Notes that a block is on a queue; returns its number.
  mutating func begin(on queue: BlockQueue, isBarrier: Bool = false) -> UInt64 {
    areLeftOut = false
    newest += 1
    changes += 1
    let block = Block(queue: entry(of: queue), isBarrier: isBarrier)
    blocks[newest] = block
    block.queue.add(newest, block, 1)
    countAgain(block.queue)
    return newest
  }

  /// Notes that a block begins to run on a thread. If it was abandoned, it counts again.
  mutating func run(_ number: UInt64, on thread: Int32, mark: UInt = 0) {
    guard var block = blocks[number] else { return }
    block.queue.add(number, block, -1)
    (block.thread, block.mark, block.isAbandoned) = (thread, mark, false)
    block.queue.add(number, block, 1)
    blocks[number] = block
    changes += 1
    countAgain(block.queue)
  }

  /// The first block for which Dispatch may still start a thread, although all threads wait; `nil` if there is none.
  ///
  /// Dispatch starts no thread for a block that is behind another one, or that is for the main thread. A signal that
  /// counts as a block (`AwaitedSemaphores`) needs no thread. O(blocks).
  var firstThatMayBegin: UInt64? {
    blocks.lazy.filter { number, block in
      let queue = block.queue
      guard block.thread == nil, !block.isAbandoned, !queue.isMain, queue.identity != .thread,
        !queue.isStopped(number), queue.stops.syncs == 0
      else { return false }
      return queue.identity.isConcurrent && !block.isBarrier
        ? queue.begunBarriers == 0 && !queue.isBehindBarrier(number) : queue.begun == 0
    }.map(\.key).min()
  }

  /// The queues of all blocks, also of abandoned ones, in the order of the blocks; and the marks of blocks that have
  /// begun. O(n log n) with n blocks.
  var all: [(queue: BlockQueue, mark: UInt?)] {
    blocks.sorted { $0.key < $1.key }.map { ($1.queue.identity, $1.thread == nil ? nil : $1.mark) }
  }

  private var awaited: some Collection<Block> { blocks.values.lazy.filter { !$0.isAbandoned } }

  /// The threads of the blocks that have begun.
  var threads: [Int32] { awaited.compactMap(\.thread) }

  /// The threads of the blocks that have begun; `nil` if there are no blocks, or if no block of some queue has begun.
  ///
  /// A block that has not begun has no thread. If another block of its queue has begun, it may wait for that block.
  var knownThreads: [Int32]? {
    guard !awaited.isEmpty, awaited.allSatisfy({ $0.queue.running > 0 }) else { return nil }
    return threads
  }

  /// Returns whether the block was abandoned, and has held the main thread since.
  @discardableResult
  mutating func end(_ number: UInt64) -> Bool {
    areLeftOut = false
    changes += 1
    guard let block = blocks.removeValue(forKey: number) else { return false }
    block.queue.add(number, block, -1)
    countAgain(block.queue)
    return block.isAbandoned && block.queue.isMain && block.thread != nil
  }

  /// Stops waiting for all blocks; returns the queues' labels in the order in which the blocks came.
  mutating func abandon() -> [String] {
    let labels = blocks.filter { !$0.value.isAbandoned }.sorted { $0.key < $1.key }
      .map(\.value.queue.identity.label)
    for number in blocks.keys { blocks[number]?.isAbandoned = true }
    for queue in queues.values {
      (queue.running, queue.waiting) = (0, 0)
      countAgain(queue)
    }
    return labels
  }

  /// Stops the program if a count is wrong; for tests. O(blocks).
  func checkInvariants() {
    let able = blocks.count { number, block in
      if block.isAbandoned || isMainTaken && block.queue.isMain { return false }
      return block.thread != nil || !block.queue.isStopped(number)
    }
    precondition(able == total, "\(total) blocks count, and \(able) can run")
    precondition(count == (areLeftOut ? 0 : total), "\(count) blocks count of \(total)")
    for queue in queues.values {
      let own = blocks.filter { $0.value.queue === queue }
      let barriers = own.filter { $0.value.isBarrier && $0.value.thread == nil }.keys.sorted()
      precondition(barriers == queue.waitingBarriers, "\(barriers) are the waiting barriers")
      let begun = own.values.filter { $0.thread != nil }
      let counts = [
        own.count, begun.count, begun.count { $0.isBarrier }, begun.count { !$0.isAbandoned },
        own.values.count { $0.thread == nil && !$0.isAbandoned },
      ]
      let stored = [queue.all, queue.begun, queue.begunBarriers, queue.running, queue.waiting]
      precondition(counts == stored, "the counts are \(stored), and should be \(counts)")
    }
    precondition(
      blocks.values.allSatisfy { queues[$0.queue.identity] === $0.queue }, "a queue was removed")
  }
}

/// The queue of a `DispatchQueue.sync` that is under way.
struct SyncQueue {
  let queue: BlockQueue
  /// What keeps the queue's other blocks from beginning while the thread waits.
  let stop: BlockQueue.Stop
  /// The call of `sync` around this one on the same thread.
  let outer: UnsafePointer<SyncQueue>?
}

/// A dispatch queue, or something else on which blocks of a test run.
struct BlockQueue: Hashable, Sendable {
  let label: String
  /// The address of a dispatch queue, which tells queues with one label apart; 0 if there is none.
  var address: UInt = 0
  /// Whether the blocks run side by side. While such a block waits, those behind it can begin.
  var isConcurrent = false

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
    address == 0 ? label : isMain ? "the main queue" : "the queue \"\(label)\""
  }

  var isMain: Bool { label == "com.apple.main-thread" }

  // Work of these kinds counts as dispatched blocks. All kinds but the first occur only in suites that were not written
  // for virtual time.
  static let isolatedDeinit = BlockQueue(label: "isolated deinit", isConcurrent: true)
  static let thread = BlockQueue(label: "a thread that the test has started")
  static let executor = BlockQueue(label: "a custom executor", isConcurrent: true)
  static let parallelJob = BlockQueue(label: "a task that does not suspend")
}
