/// The blocks of a test on dispatch queues. The test is not idle while one of them can run.
struct DispatchedBlocks {
  private struct Block {
    let queue: BlockQueue
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

    /// Whether anything but a running `sync` keeps blocks from beginning.
    var areAny: Bool { all > 0 || barriers > 0 }
  }

  private struct Summary {
    var isAnyRunning = false
    var isBarrierRunning = false
    /// The number of the first barrier that has not begun.
    var firstBarrier = UInt64.max
  }

  // Few variables are references, because each costs a reference count whenever the scheduler's state is read.
  private var blocks: [UInt64: Block] = [:]
  private var stops: [BlockQueue: Stops] = [:]
  /// The number of queues whose blocks, or barriers, cannot begin. Most tests have none.
  private var stoppedQueues = 0
  private var newest: UInt64 = 0
  /// Counts the submissions, beginnings and ends of blocks: while this count stays the same, no block makes progress.
  private(set) var changes: UInt64 = 0
  /// The number of blocks that can run. Kept apart from `blocks`, because a dictionary is slow in a debug build.
  private(set) var count = 0

  /// Whether a paused, parallel or abandoned job holds the main thread, so that no block of the main queue can run.
  var isMainTaken = false {
    didSet { countAgain() }
  }

  /// Whether the blocks are disregarded while time moves by one step, because the process is idle (`IdleProcess`).
  var areLeftOut = false {
    didSet { if areLeftOut != oldValue { countAgain() } }
  }

  /// Whether a block for which the test no longer waits holds the main thread. O(blocks).
  var isMainAbandoned: Bool {
    blocks.values.contains { $0.isAbandoned && $0.queue.isMain && $0.thread != nil }
  }

  mutating func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {
    var stops = stops[queue] ?? Stops()
    if stops.areAny { stoppedQueues -= 1 }
    switch stop {
    case .ofAll: stops.all += change
    case .ofBarriers: stops.barriers += change
    case .sync: stops.syncs += change
    }
    if stops.areAny { stoppedQueues += 1 }
    self.stops[queue] = stops.areAny || stops.syncs > 0 ? stops : nil
    if stop != .sync { countAgain() }
  }

  /// O(blocks).
  private mutating func countAgain() {
    let summaries = stoppedQueues == 0 ? [:] : summaries
    count = blocks.count { number, block in
      if areLeftOut || block.isAbandoned || isMainTaken && block.queue.isMain { return false }
      return block.thread != nil || !isStopped(number, block, summaries)
    }
  }

  private var summaries: [BlockQueue: Summary] {
    var summaries: [BlockQueue: Summary] = [:]
    for (number, block) in blocks {
      var summary = summaries[block.queue] ?? Summary()
      if block.thread != nil {
        summary.isAnyRunning = true
        if block.isBarrier { summary.isBarrierRunning = true }
      } else if block.isBarrier {
        summary.firstBarrier = min(summary.firstBarrier, number)
      }
      summaries[block.queue] = summary
    }
    return summaries
  }

  private func isStopped(
    _ number: UInt64, _ block: Block, _ summaries: [BlockQueue: Summary]
  ) -> Bool {
    guard let stop = stop(of: block.queue) else { return false }
    return stop.all > 0
      || stop.barriers > 0 && summaries[block.queue].map { $0.firstBarrier <= number } ?? false
  }

  /// Notes that a block is on a queue; returns its number.
  mutating func begin(on queue: BlockQueue, isBarrier: Bool = false) -> UInt64 {
    areLeftOut = false
    newest += 1
    changes += 1
    blocks[newest] = Block(queue: queue, isBarrier: isBarrier)
    countChanges(by: 1, on: queue)
    return newest
  }

  /// Updates `count` when a block comes to a queue (`change` is 1) or ends (-1).
  ///
  /// `change` is 0 if an abandoned block ends: it did not count, but now blocks behind it may count.
  private mutating func countChanges(by change: Int, on queue: BlockQueue) {
    if let stop = stop(of: queue) {
      // If no block of the queue can begin, a new one does not change the count.
      if change < 1 || stop.all == 0 { countAgain() }
    } else if !(isMainTaken && queue.isMain) {
      count += change
    }
  }

  private func stop(of queue: BlockQueue) -> Stops? {
    guard stoppedQueues > 0, let stop = stops[queue], stop.areAny else { return nil }
    return stop
  }

  /// Notes that a block begins to run on a thread. If it was abandoned, it counts again.
  mutating func run(_ number: UInt64, on thread: Int32, mark: UInt = 0) {
    guard var block = blocks[number] else { return }
    let isAbandoned = block.isAbandoned
    (block.thread, block.mark, block.isAbandoned) = (thread, mark, false)
    blocks[number] = block
    changes += 1
    if isAbandoned || stop(of: block.queue) != nil { countAgain() }
  }

  /// The first block for which Dispatch may still start a thread, although all threads wait; `nil` if there is none.
  ///
  /// Dispatch starts no thread for a block that is behind another one, or that is for the main thread. A signal that
  /// counts as a block (`AwaitedSemaphores`) needs no thread. O(blocks).
  var firstThatMayBegin: UInt64? {
    let summaries = summaries
    return blocks.filter { number, block in
      guard block.thread == nil, !block.isAbandoned, !block.queue.isMain, block.queue != .thread,
        !isStopped(number, block, summaries), stops[block.queue].map({ $0.syncs == 0 }) ?? true,
        let summary = summaries[block.queue]
      else { return false }
      return block.queue.isConcurrent && !block.isBarrier
        ? !summary.isBarrierRunning && number < summary.firstBarrier : !summary.isAnyRunning
    }.keys.min()
  }

  /// The queues of all blocks, also of abandoned ones, in the order of the blocks; and the marks of blocks that have
  /// begun. O(n log n) with n blocks.
  var all: [(queue: BlockQueue, mark: UInt?)] {
    blocks.sorted { $0.key < $1.key }.map { ($1.queue, $1.thread == nil ? nil : $1.mark) }
  }

  private var awaited: some Collection<Block> { blocks.values.lazy.filter { !$0.isAbandoned } }

  /// The threads of the blocks that have begun.
  var threads: [Int32] { awaited.compactMap(\.thread) }

  /// The threads of the blocks that have begun; `nil` if there are no blocks, or if no block of some queue has begun.
  ///
  /// A block that has not begun has no thread. If another block of its queue has begun, it may wait for that block.
  var knownThreads: [Int32]? {
    let queues = Set(awaited.filter { $0.thread != nil }.map(\.queue))
    guard !awaited.isEmpty, awaited.allSatisfy({ queues.contains($0.queue) }) else { return nil }
    return threads
  }

  mutating func end(_ number: UInt64) {
    areLeftOut = false
    changes += 1
    guard let block = blocks.removeValue(forKey: number) else { return }
    countChanges(by: block.isAbandoned ? 0 : -1, on: block.queue)
  }

  /// Stops the program if the count is wrong; for tests.
  func checkInvariants() {
    var copy = self
    copy.countAgain()
    precondition(copy.count == count, "\(count) blocks count, and \(copy.count) can run")
  }

  /// Stops waiting for all blocks; returns the queues' labels in the order in which the blocks came.
  mutating func abandon() -> [String] {
    let labels = blocks.filter { !$0.value.isAbandoned }.sorted { $0.key < $1.key }
      .map(\.value.queue.label)
    for number in blocks.keys { blocks[number]?.isAbandoned = true }
    count = 0
    return labels
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
