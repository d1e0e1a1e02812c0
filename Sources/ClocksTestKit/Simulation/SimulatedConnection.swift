public import Clocks
import ClocksSupport

/// The error of a simulated connection that broke.
public struct ConnectionLostError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Creates the error, for a test that expects it.
  public init() {}

  /// The message of the error.
  public var description: String { "The connection was lost." }
}

/// One end of a connection that carries bytes in order, as TCP does, in virtual time.
///
/// ```swift
/// let (client, server) = SimulatedConnection.pair(
///   in: time, latency: .milliseconds(1) ... .milliseconds(5))
/// try await client.write(Array("GET /".utf8))
/// client.finish()
/// var request: [UInt8] = []
/// for try await chunk in server.chunks { request += chunk }
/// ```
///
/// Bytes arrive in the order in which they were written, each once, but the boundaries of writes are not kept. A chunk
/// has the bytes that have arrived. In a search it may have fewer: one, or half of them, and the rest comes with the
/// next chunk. Outside a search each write takes the least latency, and a chunk has all bytes that have arrived.
///
/// With `breaks`, a write may break the connection; each break is a fault. Then none, half, or all of the write's bytes
/// still arrive, and reading at both ends throws ``ConnectionLostError``.
///
/// If an end is freed without ``finish()`` or ``disconnect()``, the other end waits permanently, as for a silent peer.
public final class SimulatedConnection: Sendable {
  /// The bytes that arrive at an end, as a sequence for one task.
  public struct Chunks: AsyncSequence, Sendable {
    let stream: SimulatedByteStream

    /// Reads the bytes that arrive at an end.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let stream: SimulatedByteStream

      /// Waits for bytes; returns `nil` after all bytes that the other end wrote before it called `finish()`.
      ///
      /// - Throws: ``ConnectionLostError``; `CancellationError` if the task is cancelled, and then no bytes are lost.
      public mutating func next() async throws -> [UInt8]? { try await stream.read() }
    }

    /// Makes an iterator. Bytes that one iterator has read are not read by another.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream) }
  }

  private let time: VirtualTime
  private let delays: SimulatedDelays
  private let breaks: Bool
  private let incoming: SimulatedByteStream
  private let outgoing: SimulatedByteStream

  private init(
    in time: VirtualTime, delays: SimulatedDelays, breaks: Bool, incoming: SimulatedByteStream,
    outgoing: SimulatedByteStream
  ) {
    self.time = time
    self.delays = delays
    self.breaks = breaks
    self.incoming = incoming
    self.outgoing = outgoing
  }

  /// Makes a connection, and returns its two ends.
  ///
  /// - Parameters:
  ///   - time: The scope of virtual time in which bytes travel.
  ///   - latency: How long the bytes of a write travel, zero or more.
  ///   - splits: Whether a search may return fewer bytes than have arrived.
  ///   - breaks: Whether a write may break the connection; each break is a fault.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public static func pair(
    in time: VirtualTime, latency: ClosedRange<Duration>, splits: Bool = true,
    breaks: Bool = false,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> (SimulatedConnection, SimulatedConnection) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let delays = SimulatedDelays(latency, of: "A simulated connection", at: callSite)
    let there = SimulatedByteStream(in: time, splits: splits)
    let back = SimulatedByteStream(in: time, splits: splits)
    return (
      SimulatedConnection(
        in: time, delays: delays, breaks: breaks, incoming: back, outgoing: there),
      SimulatedConnection(
        in: time, delays: delays, breaks: breaks, incoming: there, outgoing: back)
    )
  }

  /// The bytes that arrive at this end.
  ///
  /// After ``ConnectionLostError`` each further read throws it again.
  public var chunks: Chunks { Chunks(stream: incoming) }

  /// Sends bytes, and returns when they are on their way.
  ///
  /// A write that breaks the connection returns as usual: the sender cannot know. The call suspends. O(bytes).
  ///
  /// - Throws: ``ConnectionLostError`` if the connection is known to be lost, or this end has finished;
  ///   `CancellationError` if the current task is cancelled. Then nothing is sent.
  @concurrent
  public func write(_ bytes: [UInt8]) async throws {
    try Task.checkCancellation()
    guard !outgoing.hasFinished, !incoming.isLost else { throw ConnectionLostError() }
    // Over a connection that is broken already, nothing is sent, so nothing is decided.
    guard !bytes.isEmpty, outgoing.isOpen else { return }
    let isBroken = breaks && time.fault("breaks the connection")
    let kept = isBroken ? time.choose(Self.parts(of: bytes.count)) : bytes.count
    let delay = delays.next(in: time)
    if kept > 0 { outgoing.send(.bytes(Array(bytes.prefix(kept))), for: delay) }
    guard isBroken else { return }
    outgoing.send(.loss, for: delay)
    incoming.send(.loss, for: delay)
  }

  /// Returns how many of the bytes of a write may arrive if the write breaks the connection.
  private static func parts(of count: Int) -> [Int] {
    count == 1 ? [0, 1] : [0, count / 2, count]
  }

  /// Ends writing at this end: the other end reads what was written before, then `nil`. This end can still read. O(1).
  public func finish() { outgoing.send(.end, for: delays.next(in: time)) }

  /// Breaks the connection. Reading throws at this end now, and at the other end after the bytes that are on their way.
  ///
  /// Bytes that have arrived at this end and were not read are lost. O(1).
  public func disconnect() {
    incoming.lose()
    outgoing.send(.loss, for: delays.next(in: time))
  }
}
