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
/// The value stands for a file: ``write(_:)`` changes what the operating system holds, ``sync()`` brings that to the
/// disk. If the node crashes, the value becomes the last one that was synced, or one that was written later. A search
/// chooses which; outside a search it is the last one written. The task that crashes the node makes the choice. With
/// `torn`, the first write that is lost may leave something else behind, such as a part of its bytes. All functions
/// throw ``NodeCrashedError`` if the node has crashed, or if a program of the node started the current task before a
/// crash. They throw ``UnknownNodeError`` if the network has no such node.
///
/// Values that were written since the last sync are kept in memory.
public final class SimulatedDisk<Value: Sendable>: Sendable {
  /// A value that a crash may leave on the disk, described for the explanation of a failure.
  private struct Remains: CustomStringConvertible {
    let value: Value
    /// How many of the last writes are lost altogether.
    let lost: Int
    /// Whether the write before the lost ones left something other than the value that it wrote.
    var isTorn = false

    var description: String {
      let writes = "\(lost) lost \(lost == 1 ? "write" : "writes")"
      guard isTorn else { return writes }
      return lost == 0 ? "a torn write" : writes + " and a torn one"
    }
  }

  private let nodes: SimulatedNodes
  /// `nil` if the network has no such node.
  private let node: Int?
  private let name: String
  private let delays: SimulatedDelays
  private let torn: @Sendable (Value, Value) -> [Value]
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// The synced value, and all values that were written after it. Never empty. Guarded by `lock`.
  nonisolated(unsafe) private var values: [Value]
  /// The number of earlier values that are not in `values` any more. Guarded by `lock`.
  nonisolated(unsafe) private var dropped = 0

  /// Creates a disk of a node, with a value that counts as synced. O(1).
  ///
  /// - Parameters:
  ///   - initial: The value.
  ///   - node: The name of the node; if the network has none of this name, that is a failure of the test.
  ///   - network: The network of the node.
  ///   - latency: How long a sync takes, zero or more. A search chooses the duration; otherwise it is the least.
  ///   - torn: Returns what a crash may leave of a write, besides nothing and all of it. A search chooses one of these
  ///     values. The arguments are the value before the write, and the written one. By default a write is never torn.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init<Message>(
    _ initial: Value, of node: String, in network: SimulatedNetwork<Message>,
    latency: ClosedRange<Duration> = .zero ... .zero,
    torn: @escaping @Sendable (_ old: Value, _ new: Value) -> [Value] = { _, _ in [] },
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    nodes = network.nodes
    name = node
    self.node = nodes.index(of: node, in: "SimulatedDisk(_:of:in:)", at: callSite)
    delays = SimulatedDelays(latency, of: "A simulated disk", at: callSite)
    self.torn = torn
    values = [initial]
    if let node = self.node { nodes.onCrash(of: node) { [weak self] in self?.crash() } }
  }

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

  /// Syncs the value that was last written before the call. When the call returns, that value survives a crash.
  ///
  /// The call suspends. If the node crashes before the call returns, the value counts as not synced. If the task is
  /// cancelled before the latency is over, the call throws, and nothing is synced. Without a latency, cancellation has
  /// no effect.
  ///
  /// O(n) for n values since the last sync, and a sleep if the disk has a latency.
  ///
  /// - Throws: ``NodeCrashedError`` if the node has crashed; `CancellationError` if the task is cancelled.
  @concurrent
  public func sync() async throws {
    let life = try presentLife
    let last = lock.withLock { dropped + values.count - 1 }
    let delay = delays.next(in: nodes.time)
    if delay > .zero { try await nodes.time.clock.sleep(for: delay) }
    guard try presentLife == life else { throw NodeCrashedError(node: name) }
    // The values are released without the lock: they may be the user's objects.
    let replaced = lock.withLock {
      let count = max(0, last - dropped)
      defer {
        values.removeFirst(count)
        dropped += count
      }
      return Array(values.prefix(count))
    }
    withExtendedLifetime(replaced) {}
  }

  private func crash() {
    let values = lock.withLock { self.values }
    guard values.count > 1 else { return }
    // Outside a search the first option is taken, and nothing is lost.
    var options = [Remains(value: values[values.count - 1], lost: 0)]
    for lost in 1..<values.count {
      let before = values.count - 1 - lost
      options += torn(values[before], values[before + 1]).map {
        Remains(value: $0, lost: lost - 1, isTorn: true)
      }
      options.append(Remains(value: values[before], lost: lost))
    }
    let survivor = nodes.time.choose(options).value
    withExtendedLifetime(values) {
      lock.withLock {
        dropped += values.count - 1
        self.values = [survivor]
      }
    }
  }
}
