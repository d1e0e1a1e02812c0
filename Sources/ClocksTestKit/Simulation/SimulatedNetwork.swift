public import Clocks
import ClocksSupport

/// A network between the nodes of a test, in virtual time. A search of schedules decides its faults.
///
/// ```swift
/// @Test(.schedules(500, faults: 2)) func pings() async throws {
///   let time = try VirtualTime.required
///   let net = SimulatedNetwork<String>(
///     in: time, nodes: ["a", "b"], latency: .milliseconds(1) ... .milliseconds(10), loses: true)
///   net.run(on: "b") {
///     for await question in net.inbox(of: "b") {
///       try await net.send("pong", from: "b", to: question.sender)
///     }
///   }
///   …
/// ```
///
/// In a search, each message takes the least latency, the most, or one of two between. It may be lost, or arrive twice,
/// at most as often as `faults:` allows. Messages that are sent one after another may arrive in the opposite order. The
/// search decides all this as it decides the order of jobs: the decisions are part of the token and of the shortest
/// failure. Decisions about a message are made when it is sent, by the task that sends it. Outside a search every
/// message takes the least latency, none is lost, and they arrive in the order in which they were sent. The network has
/// no randomness of its own. A recorded timeline marks messages, crashes, restarts and partitions.
///
/// A node is a name. ``run(on:fileID:filePath:line:column:_:)`` gives it a program, which ends when the node crashes
/// and begins again when the node is restarted. Data that survives a crash is in a ``SimulatedDisk``.
///
/// A name that is not in `nodes` is recorded as a failure of the test, at the line of the call. The call then has no
/// effect. Messages in transit retain the network. When the network is freed, its inboxes end. When the body of the
/// scope returns, the programs of all nodes are cancelled. All functions may be called from any task.
public final class SimulatedNetwork<Message: Sendable>: Sendable {
  private struct Inbox {
    let number: Int
    let continuation: AsyncStream<Envelope<Message>>.Continuation
  }

  /// The inboxes of one life of a node, and the messages that wait for an inbox.
  private struct Arrivals {
    var life = 0
    var inboxes: [Inbox] = []
    /// The messages that arrived while there was no inbox.
    var kept: [Envelope<Message>] = []
  }

  let nodes: SimulatedNodes
  private let delays: SimulatedDelays
  private let loses: Bool
  private let duplicates: Bool
  private let links: SimulatedLinks
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private var arrivals: [Arrivals]
  /// Guarded by `lock`.
  nonisolated(unsafe) private var createdInboxes = 0

  /// Creates a network of nodes that all run and have contact. O(n²) for n nodes.
  ///
  /// - Parameters:
  ///   - time: The scope of virtual time in which messages travel.
  ///   - nodes: The names of the nodes, each different.
  ///   - latency: How long a message travels, zero or more.
  ///   - loses: Whether a message may be lost; each loss is a fault.
  ///   - reorders: Whether a message may overtake another one of the same sender to the same receiver.
  ///   - duplicates: Whether a message may arrive twice; each second copy is a fault.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  public init(
    in time: VirtualTime, nodes: [String], latency: ClosedRange<Duration>, loses: Bool = false,
    reorders: Bool = true, duplicates: Bool = false,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    self.nodes = SimulatedNodes(nodes, in: time, at: callSite)
    delays = SimulatedDelays(latency, of: "A simulated network", at: callSite)
    self.loses = loses
    self.duplicates = duplicates
    let names = self.nodes.names
    links = SimulatedLinks(
      names: names.flatMap { sender in names.map { "\(sender) → \($0)" } }, in: time,
      reorders: reorders)
    arrivals = names.map { _ in Arrivals() }
  }

  deinit {
    for arrivals in arrivals {
      for inbox in arrivals.inboxes { inbox.continuation.finish() }
    }
  }

  // MARK: - Messages

  /// Sends a message, and returns when it is on its way.
  ///
  /// The message is lost without an error if the receiver has crashed or a partition separates the nodes, at the
  /// instant of sending or of arrival: a sender cannot know. A message from a node to itself is lost only if the node
  /// crashes before it arrives, and never comes twice. Like any call that leaves an actor, the call suspends: other
  /// calls of the actor may come in between.
  ///
  /// O(1), and a sleep until the message arrives.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - sender: The name of the node that sends it.
  ///   - receiver: The name of the node that is to receive it.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  /// - Throws: ``NodeCrashedError`` if the sender has crashed; `CancellationError` if the current task is cancelled;
  ///   ``UnknownNodeError`` if the network has no such node, which is also recorded as a failure. Then nothing is sent.
  @concurrent
  public func send(
    _ message: Message, from sender: String, to receiver: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) async throws {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let function = "send(_:from:to:)"
    guard let from = nodes.index(of: sender, in: function, at: callSite) else {
      throw UnknownNodeError(node: sender)
    }
    guard let to = nodes.index(of: receiver, in: function, at: callSite) else {
      throw UnknownNodeError(node: receiver)
    }
    guard nodes.presentLife(of: from) != nil else { throw NodeCrashedError(node: sender) }
    try Task.checkCancellation()
    let time = nodes.time
    guard let life = nodes.reachableLife(of: to, from: from) else {
      return time.mark("to \(receiver), out of reach: \(message)")
    }
    time.mark("to \(receiver): \(message)")
    let link = from * nodes.names.count + to
    let mayFail = from != to
    if loses, mayFail, time.fault("loses " + links.names[link]) { return }
    let isDoubled = duplicates && mayFail && time.fault("duplicates " + links.names[link])
    let envelope = Envelope(payload: message, sender: sender, sentAt: time.now)
    for _ in 0..<(isDoubled ? 2 : 1) {
      links.carry(over: link, for: delays.next(in: time)) {
        self.arrive(envelope, at: to, in: life, from: from)
      }
    }
  }

  /// - Parameter life: The number of the receiver's life when the message was sent.
  private func arrive(
    _ envelope: Envelope<Message>, at receiver: Int, in life: Int, from sender: Int
  ) {
    guard nodes.reachableLife(of: receiver, from: sender) != nil,
      let inboxes = inboxes(of: receiver, in: life, keeping: envelope)
    else { return nodes.time.mark("out of reach: \(envelope.payload)") }
    nodes.time.mark("arrives: \(envelope.payload)")
    for inbox in inboxes { inbox.continuation.yield(envelope) }
  }

  /// Returns the inboxes of a node's life; `nil` if that life has ended. If there is no inbox, keeps the message.
  private func inboxes(of node: Int, in life: Int, keeping envelope: Envelope<Message>) -> [Inbox]?
  {
    endLives(of: node, before: life)
    return lock.withLock {
      guard arrivals[node].life == life else { return nil }
      if arrivals[node].inboxes.isEmpty { arrivals[node].kept.append(envelope) }
      return arrivals[node].inboxes
    }
  }

  /// Returns the messages that arrive at a node, until it crashes.
  ///
  /// A node may have several inboxes: each receives every message that arrives after the inbox was made. Messages that
  /// arrive while the node has no inbox are kept for the next one. An inbox takes any number of messages. When the node
  /// crashes, the inbox ends after the messages that have arrived. An inbox of a crashed node has ended already; after
  /// a restart, make a new one. If the task that reads an inbox is cancelled, the inbox ends, and messages are kept
  /// again. O(1).
  public func inbox(
    of node: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> AsyncStream<Envelope<Message>> {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let (stream, continuation) = AsyncStream.makeStream(of: Envelope<Message>.self)
    guard let index = nodes.index(of: node, in: "inbox(of:)", at: callSite),
      let life = nodes.presentLife(of: index),
      let (number, kept) = addInbox(continuation, to: index, in: life)
    else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.remove(number, of: index) }
    for envelope in kept { continuation.yield(envelope) }
    return stream
  }

  /// Returns the number of the inbox, and the messages that were kept for it; `nil` if the node's life has ended.
  private func addInbox(
    _ continuation: AsyncStream<Envelope<Message>>.Continuation, to node: Int, in life: Int
  ) -> (Int, [Envelope<Message>])? {
    endLives(of: node, before: life)
    return lock.withLock {
      guard arrivals[node].life == life else { return nil }
      createdInboxes += 1
      arrivals[node].inboxes.append(Inbox(number: createdInboxes, continuation: continuation))
      defer { arrivals[node].kept = [] }
      return (createdInboxes, arrivals[node].kept)
    }
  }

  private func remove(_ inbox: Int, of node: Int) {
    lock.withLock { arrivals[node].inboxes.removeAll { $0.number == inbox } }
  }

  /// Ends the inboxes of a node's lives before `life`, and drops the messages that were kept for them.
  ///
  /// While thread A crashes the node, thread B may restart it and use the new life. Whichever calls this function first
  /// ends the old life.
  func endLives(of node: Int, before life: Int) {
    // The messages are released without the lock: they may be the user's objects.
    let ended: Arrivals? = lock.withLock {
      guard arrivals[node].life < life else { return nil }
      defer { arrivals[node] = Arrivals(life: life) }
      return arrivals[node]
    }
    withExtendedLifetime(ended) {
      for inbox in ended?.inboxes ?? [] { inbox.continuation.finish() }
    }
  }
}
