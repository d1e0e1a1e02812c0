/// The blocks of a test on dispatch queues. The test is not idle while one of them can run.
struct DispatchedBlocks {
  struct Block {
    let queue: Queue
    let isBarrier: Bool
    /// The thread on which it runs, 0 if that is not known; `nil` until the block begins.
    var thread: Int32?
    /// An address on the stack of that thread, above the frames of the block; 0 if it is not known.
    var mark: UInt = 0
    /// Whether the test no longer waits for the block. If the block begins after that, it counts again.
    var isAbandoned = false
    /// The record of the block for the next owner of the test case, if this owner's clocks are gone.
    var unowned: UnownedBlock?
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
  /// The number of blocks that have begun, and for which the test no longer waits.
  private(set) var abandoned = 0

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

  /// O(1), or O(queues) if the queue has a target or is one.
  mutating func noteStop(_ stop: BlockQueue.Stop, of queue: BlockQueue, _ change: Int) {
    let queue = entry(of: queue)
    queue.noteStop(stop, change)
    countAgainWithTargets(queue)
  }

  /// Notes that a queue was suspended or made inactive, or no longer is: an inactive queue may have got another target.
  ///
  /// O(1), or O(queues) if the queue has a target or is one.
  mutating func noteSuspension(of queue: BlockQueue) {
    guard queues[queue] != nil else { return }
    let entry = keptEntry(of: queue)
    entry.isSuspended = queue.isSuspended
    countAgainWithTargets(entry)
  }

  /// Reads for all queues whether they are suspended or inactive. O(queues).
  mutating func noteSuspensions() {
    for queue in queues.values.map(\.identity) { noteSuspension(of: queue) }
  }

  /// Amortized O(1) for a queue whose target has not changed.
  private mutating func entry(of queue: BlockQueue) -> Queue {
    if queues.count >= mostQueues {
      let used = queues.values.filter { !$0.isUnused }
      let targets = Set(used.flatMap(\.targets).map(ObjectIdentifier.init))
      queues = queues.filter { !$1.isUnused || targets.contains(ObjectIdentifier($1)) }
      mostQueues = max(32, 2 * queues.count)
    }
    return keptEntry(of: queue)
  }

  /// Returns the entry of a queue. Unlike `entry(of:)`, never drops unused queues.
  private mutating func keptEntry(of queue: BlockQueue) -> Queue {
    let known = queues[queue]
    let entry = known ?? Queue(queue)
    if known == nil { queues[queue] = entry }
    if entry.identity.targets != queue.targets { setTargets(of: entry, queue.targets) }
    return entry
  }

  private mutating func setTargets(of queue: Queue, _ targets: [BlockQueue]) {
    let former = queue.targets
    queue.setTargets(
      targets.indices.map { index in
        // The targets of a target are the ones behind it.
        var target = targets[index]
        target.targets = Array(targets[(index + 1)...])
        return keptEntry(of: target)
      }, targets)
    for queue in [queue] + former { countAgainWithTargets(queue) }
  }

  /// Counts again the blocks that can run on the queue, and on all other queues that share targets with it (`shares`).
  private mutating func countAgainWithTargets(_ queue: Queue) {
    countAgain(queue)
    guard queue.isTarget || !queue.targets.isEmpty else { return }
    for other in queues.values where other !== queue && other.shares(with: queue) {
      countAgain(other)
    }
  }

  /// Computes how many blocks of a queue can run. O(1), or O(blocks) while a barrier waits for blocks that wait in
  /// virtual time.
  private mutating func countAgain(_ queue: Queue) {
    total -= queue.count
    if isMainTaken && queue.isMain {
      queue.count = 0
    } else if queue.isStopped {
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

  func unowned(_ number: UInt64) -> UnownedBlock? { blocks[number]?.unowned }

  /// Returns the blocks for which the next owner of the test case has to wait, in order. O(n log n).
  mutating func leave(to testCase: UInt64, by owner: TaskOwner) -> [UnownedBlock] {
    blocks.keys.sorted().compactMap { number in
      let block = blocks[number]!
      // Work that is on no queue is a part of a job, or of another block.
      guard block.queue.identity.address != 0, !block.isAbandoned else { return nil }
      if let known = block.unowned { return known }
      let unowned = UnownedBlock(
        on: .known(block.queue.identity), isBarrier: block.isBarrier, of: testCase, former: owner)
      if block.thread != nil { unowned.begin(mark: block.mark) }
      blocks[number]!.unowned = unowned
      return unowned
    }
  }

  /// Notes that a block begins to run on a thread. If it was abandoned, it counts again.
  ///
  /// - Returns: The record of the block for the next owner of the test case; `nil` if there is none.
  @discardableResult
  mutating func run(_ number: UInt64, on thread: Int32, mark: UInt = 0) -> UnownedBlock? {
    guard var block = blocks[number] else { return nil }
    block.queue.add(number, block, -1)
    if block.isAbandoned, block.thread != nil { abandoned -= 1 }
    (block.thread, block.mark, block.isAbandoned) = (thread, mark, false)
    block.queue.add(number, block, 1)
    blocks[number] = block
    changes += 1
    countAgain(block.queue)
    return block.unowned
  }

  /// The first block for which Dispatch may still start a thread, although all threads wait; `nil` if there is none.
  ///
  /// Dispatch starts no thread for a block that is behind another one, or that is for the main thread. A signal that
  /// counts as a block (`AwaitedObjects`) needs no thread. O(blocks).
  var firstThatMayBegin: UInt64? {
    let taken = serialQueues(of: blocks.values.lazy.filter { $0.thread != nil })
    func isFree(_ queue: Queue) -> Bool {
      queue.stops.syncs == 0 && queue.begunBarriers == 0
        && !taken.contains(ObjectIdentifier(queue))
    }
    return blocks.lazy.filter { number, block in
      let queue = block.queue
      guard block.thread == nil, !block.isAbandoned, !queue.isMain, queue.identity != .thread,
        !queue.isStopped(number), isFree(queue), queue.targets.allSatisfy(isFree)
      else { return false }
      return block.isBarrier ? queue.begun == 0 : !queue.isBehindBarrier(number)
    }.map(\.key).min()
  }

  /// The serial queues that blocks hold while they run: their own, and its targets.
  private func serialQueues(of blocks: some Sequence<Block>) -> Set<ObjectIdentifier> {
    blocks.reduce(into: []) { serial, block in
      func insert(_ queue: Queue) {
        if !queue.identity.isConcurrent { serial.insert(ObjectIdentifier(queue)) }
      }
      insert(block.queue)
      block.queue.targets.forEach(insert)
    }
  }

  /// The queues of all blocks, also of abandoned ones, in the order of the blocks; and the marks of blocks that have
  /// begun. O(n log n) with n blocks.
  var all: [(queue: BlockQueue, mark: UInt?)] {
    blocks.sorted { $0.key < $1.key }.map { ($1.queue.identity, $1.thread == nil ? nil : $1.mark) }
  }

  private var awaited: some Collection<Block> { blocks.values.lazy.filter { !$0.isAbandoned } }

  /// The threads of the blocks that have begun.
  var threads: [Int32] { awaited.compactMap(\.thread) }

  /// The threads of the blocks for which the test no longer waits. O(blocks).
  var abandonedThreads: [Int32] { blocks.values.filter(\.isAbandoned).compactMap(\.thread) }

  /// The threads of the blocks that have begun; `nil` if there are no blocks, or if no block of some queue has begun.
  ///
  /// A block that has not begun has no thread. It may wait for a block that has begun on its queue, or on another queue
  /// with the same serial target.
  var knownThreads: [Int32]? {
    let taken = serialQueues(of: awaited.lazy.filter { $0.thread != nil })
    guard !awaited.isEmpty,
      awaited.allSatisfy({ block in
        block.queue.running > 0
          || block.queue.targets.contains { taken.contains(ObjectIdentifier($0)) }
      })
    else { return nil }
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
    guard block.isAbandoned, block.thread != nil else { return false }
    abandoned -= 1
    return block.queue.isMain
  }

  /// Stops waiting for all blocks; returns the queues' labels in the order in which the blocks came.
  mutating func abandon() -> [String] {
    let labels = blocks.filter { !$0.value.isAbandoned }.sorted { $0.key < $1.key }
      .map(\.value.queue.identity.label)
    for number in blocks.keys { blocks[number]?.isAbandoned = true }
    abandoned = blocks.values.count { $0.thread != nil }
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
    precondition(abandoned == abandonedThreads.count, "\(abandoned) blocks are abandoned")
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
      blocks.values.flatMap { [$0.queue] + $0.queue.targets }.allSatisfy {
        queues[$0.identity] === $0
      }, "a queue was removed")
    for queue in queues.values { queue.checkStops(queues.values) }
  }
}
