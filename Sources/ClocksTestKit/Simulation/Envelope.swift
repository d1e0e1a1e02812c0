public import Clocks

/// A message that has arrived at a node of a simulated network.
public struct Envelope<Message: Sendable>: Sendable {
  /// The message.
  public let payload: Message
  /// The name of the node that sent it.
  public let sender: String
  /// The instant at which the message was sent.
  public let sentAt: VirtualTime.Instant

  /// Creates an envelope, for a test of code that takes envelopes.
  public init(payload: Message, sender: String, sentAt: VirtualTime.Instant) {
    self.payload = payload
    self.sender = sender
    self.sentAt = sentAt
  }
}

extension Envelope: Equatable where Message: Equatable {}
extension Envelope: Hashable where Message: Hashable {}

/// The error of code that uses the network or a disk of its node although this node has crashed.
///
/// Code that still runs after the crash gets this error from each such call, so it can change nothing any more.
public struct NodeCrashedError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the node.
  public let node: String

  /// Creates the error, for a test that expects it.
  public init(node: String) { self.node = node }

  /// The node, and what the error means.
  public var description: String {
    "The node \"\(node)\" has crashed. Code that it ran before can neither send nor use its disks."
  }
}

/// The error of a call with the name of an unknown node. The call also records a failure of the test.
public struct UnknownNodeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name that no node has.
  public let node: String

  /// Creates the error, for a test that expects it.
  public init(node: String) { self.node = node }

  /// The name, and what is wrong with it.
  public var description: String { "The simulated network has no node \"\(node)\"." }
}
