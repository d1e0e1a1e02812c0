import Clocks
import ClocksSupport

/// A value that survives a crash of its node; writes that are not synced may be lost.
///
/// ```swift
/// let disk = SimulatedDisk([String](), of: "a", in: net)
/// net.run(on: "a") {
///   var log = try disk.read()
///   for await message in net.inbox(of: "a") {
///     log.append(message.payload)
///     try disk.write(log)
///     try await disk.sync()
///     try await net.send("saved", from: "a", to: message.sender)
///   }
/// }
/// ```
///
/// It stands for a file: ``write(_:)`` changes what the operating system holds, ``sync()`` brings that to the disk. If
/// the node crashes, the value is the last one that was synced, or one that was written later. A search chooses which;
/// outside a search it is the last one written. The choice is made by the task that crashes the node. All
/// functions throw ``NodeCrashedError`` if the node has crashed, or if a crash has left the current task behind.
///
/// Values that were written since the last sync are kept in memory.
public final class SimulatedDisk<Value: Sendable>: Sendable {
  /// An option of a crash, as the explanation of a failure shows it.
  private struct Loss: CustomStringConvertible {
    /// How many of the last writes are lost.
    let writes: Int

    var description: String { "\(writes) lost \(writes == 1 ? "write" : "writes")" }
  }

  private let nodes: SimulatedNodes
  /// `nil` if the network has no such node.
  private let node: Int?
  private let name: String
  private let delays: SimulatedDelays
  private let lock = Lock(.leaf)
  /// The synced value, and all that were written after it. Never empty. Guarded by `lock`.
  nonisolated(unsafe) private var values: [Value]
  /// The number of values before the first in `values`. Guarded by `lock`.
  nonisolated(unsafe) private var dropped = 0

  /// Creates a disk of a node, with a value that counts as synced. O(1).
  ///
  /// - Parameters:
  ///   - initial: The value.
  ///   - node: The name of the node; if the network has none of this name, that is a failure of the test.
  ///   - network: The network of the node.
  ///   - latency: How long a sync takes; in a search a choice.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init<Message>(
    _ initial: Value, of node: String, in network: SimulatedNetwork<Message>,
    latency: ClosedRange<Duration> = .zero ... .zero,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    nodes = network.nodes
    name = node
    self.node = nodes.index(of: node, in: "SimulatedDisk(_:of:in:)", at: callSite)
    delays = SimulatedDelays(latency, of: "A simulated disk", at: callSite)
    values = [initial]
    if let node = self.node { nodes.onCrash(of: node) { [weak self] in self?.crash() } }
  }

  deinit { lock.destroy() }

  private var presentLife: Int {
    get throws {
      guard let node else { throw UnknownNodeError(node: name) }
      guard let life = nodes.presentLife(of: node) else { throw NodeCrashedError(node: name) }
      return life
    }
  }

  /// Returns the value last written, synced or not. O(1).
  ///
  /// - Throws: ``NodeCrashedError`` if the node has crashed.
  public func read() throws -> Value {
    _ = try presentLife
    return lock.withLock { values[values.count - 1] }
  }

  /// Replaces the value; a crash before the next ``sync()`` may undo it. O(1).
  ///
  /// - Throws: ``NodeCrashedError`` if the node has crashed.
  public func write(_ value: Value) throws {
    _ = try presentLife
    lock.withLock { values.append(value) }
  }

  /// Returns when the value that was last written before the call survives a crash.
  ///
  /// The call suspends. If the node crashes before it returns, the value counts as not synced. If the task is cancelled
  /// during the latency, it throws, and nothing is synced.
  ///
  /// O(n) for n values since the last sync, and a sleep if the disk has a latency.
  ///
  /// - Throws: ``NodeCrashedError`` if the node has crashed; `CancellationError`.
  @concurrent
  public func sync() async throws {
    let life = try presentLife
    let last = lock.withLock { dropped + values.count - 1 }
    let delay = delays.next(in: nodes.time)
    if delay > .zero { try await nodes.time.clock.sleep(for: delay) }
    guard try presentLife == life else { throw NodeCrashedError(node: name) }
    lock.withLock {
      guard last > dropped else { return }
      values.removeFirst(last - dropped)
      dropped = last
    }
  }

  private func crash() {
    let count = lock.withLock { values.count }
    guard count > 1 else { return }
    // Nothing is lost outside a search, so that comes first.
    let survivor = count - 1 - nodes.time.choose((0..<count).map(Loss.init)).writes
    lock.withLock {
      dropped += survivor
      values = [values[survivor]]
    }
  }
}
