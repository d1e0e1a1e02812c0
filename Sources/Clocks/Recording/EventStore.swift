/// Something that happened, in 40 bytes.
struct RecordedEvent: Sendable {
  enum Kind: UInt8 {
    case created
    case enqueued
    case began
    case ended
    case slept
    case woken
    case cancelled
    case timeMoved
    case wentAway
    case cameBack
    case mark
  }

  var kind: Kind
  /// The number of the actor on which it happened; 0 for none.
  var actor: UInt16 = 0
  /// Whether `time` is known.
  var hasTime = false
  var task: UInt64 = 0
  /// The task that did it; of a mark its number.
  var other: UInt64 = 0
  /// The deadline of a sleep, or the time that it is from now on.
  var time: Duration = .zero
}

/// The latest events, up to a limit.
///
/// Events stand in blocks that are only ever added to, so that a copy shares them and is taken in O(1)
/// for each block, while others are still added. Whoever adds events does so one at a time.
struct EventStore: Sendable {
  private static let blockLength = 4_096

  private final class Block: @unchecked Sendable {
    /// Places below the owner's count are never written again.
    let events = UnsafeMutablePointer<RecordedEvent>.allocate(capacity: EventStore.blockLength)
    deinit { events.deallocate() }
  }

  /// The number of events that are kept at least, once there were so many.
  let limit: Int
  private var blocks: [Block] = []
  private var countInLast = EventStore.blockLength
  /// The number of events that have been dropped.
  private(set) var dropped = 0

  init(limit: Int) { self.limit = limit }

  /// The number of events that are kept.
  var count: Int { blocks.count * Self.blockLength - (Self.blockLength - countInLast) }

  /// Adds an event; drops the earliest block if there are more than enough without it. Amortized O(1).
  @inline(__always)
  mutating func append(_ event: RecordedEvent) {
    if countInLast == Self.blockLength { addBlock() }
    blocks[blocks.count - 1].events.advanced(by: countInLast).initialize(to: event)
    countInLast += 1
  }

  @inline(never)
  private mutating func addBlock() {
    if blocks.count > 1, count - Self.blockLength >= limit {
      blocks.removeFirst()
      dropped += Self.blockLength
    }
    blocks.append(Block())
    countInLast = 0
  }

  /// Calls `body` with each event, the earliest first. O(n).
  func waitForCurrentJobAndTask(_ body: (RecordedEvent) -> Void) {
    for (index, block) in blocks.enumerated() {
      let count = index == blocks.count - 1 ? countInLast : Self.blockLength
      for place in 0..<count { body(block.events[place]) }
    }
  }
}
