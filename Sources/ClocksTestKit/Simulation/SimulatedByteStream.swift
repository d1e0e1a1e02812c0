import Clocks
import ClocksSupport

/// One direction of a simulated connection.
final class SimulatedByteStream: Sendable {
  enum Segment: Sendable {
    case bytes([UInt8])
    case end
    case loss
  }

  private enum Ending {
    case finished
    case lost
  }

  private let time: VirtualTime
  private let splits: Bool
  private let links: SimulatedLinks
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// The bytes that have arrived and were not read. Guarded by `lock`.
  nonisolated(unsafe) private var arrived: [UInt8] = []
  /// Guarded by `lock`.
  nonisolated(unsafe) private var ending: Ending?
  /// Whether the sender has sent the end. Guarded by `lock`.
  nonisolated(unsafe) private var isFinished = false
  /// Whether the loss of the connection was sent. Guarded by `lock`.
  nonisolated(unsafe) private var isLossSent = false
  /// Reads that wait for bytes. Guarded by `lock`.
  nonisolated(unsafe) private var readers: [CheckedContinuation<Void, Never>] = []

  init(in time: VirtualTime, splits: Bool) {
    self.time = time
    self.splits = splits
    links = SimulatedLinks(names: ["bytes"], in: time, reorders: false)
  }

  /// Whether the sender has sent the end.
  var hasFinished: Bool { lock.withLock { isFinished } }

  /// Whether the reader knows that the connection is lost.
  var isLost: Bool { lock.withLock { ending == .lost } }

  /// Whether bytes that are sent now would arrive.
  var isOpen: Bool { lock.withLock { !isFinished && !isLossSent && ending != .lost } }

  /// Sends a segment. It arrives after `delay`, and after all segments before it. Only a loss can follow an end, and
  /// nothing follows a loss.
  ///
  /// - Parameter delay: Not chosen if nothing is sent, because a choice makes a search longer.
  func send(_ segment: Segment, for delay: @autoclosure () -> Duration) {
    let isSent = lock.withLock {
      let (wasFinished, wasLost) = (isFinished, isLossSent || ending == .lost)
      switch segment {
      case .bytes: return !wasFinished && !wasLost
      case .end:
        isFinished = true
        return !wasFinished && !wasLost
      case .loss:
        // The loss of the connection is sent even after an end. The end closes only this direction, and the reader
        // must also learn that the other one is broken.
        isLossSent = true
        return !wasLost
      }
    }
    guard isSent else { return }
    links.carry(over: 0, for: delay()) { self.arrive(segment) }
  }

  /// Breaks the connection at the reader's end immediately. Bytes that have arrived and were not read are lost, too.
  func lose() {
    lock.withLock { arrived = [] }
    arrive(.loss)
  }

  private func arrive(_ segment: Segment) {
    lock.withLock {
      switch segment {
      case .bytes(let bytes): if ending == nil { arrived += bytes }
      case .end: ending = ending ?? .finished
      case .loss: ending = .lost
      }
    }
    wake()
  }

  /// Wakes all reads that wait. Each checks again whether it has to wait.
  private func wake() {
    let woken = lock.withLock {
      defer { readers = [] }
      return readers
    }
    for reader in woken { reader.resume() }
  }

  /// Waits until bytes have arrived, and returns some of them; `nil` after the end.
  func read() async throws -> [UInt8]? {
    while true {
      try Task.checkCancellation()
      let (count, ending) = lock.withLock { (arrived.count, self.ending) }
      if count > 0 { return take(splits && count > 1 ? time.choose(Self.parts(of: count)) : count) }
      switch ending {
      case .finished: return nil
      case .lost: throw ConnectionLostError()
      case nil: await arrival()
      }
    }
  }

  /// Returns how many of `count` bytes a read may return. The first option is all of them, because a read outside a
  /// search takes the first option.
  private static func parts(of count: Int) -> [Int] {
    count < 4 ? [count, 1] : [count, 1, count / 2]
  }

  private func take(_ count: Int) -> [UInt8] {
    lock.withLock {
      defer { arrived.removeFirst(min(count, arrived.count)) }
      return Array(arrived.prefix(count))
    }
  }

  /// Waits until something arrives, or the task is cancelled.
  private func arrival() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = lock.withLock {
          guard arrived.isEmpty, ending == nil, !Task.isCancelled else { return false }
          readers.append(continuation)
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      wake()
    }
  }
}
