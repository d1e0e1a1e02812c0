import Clocks
import ClocksSupport

extension SimulatedNetwork {
  /// Runs a program on a node: now, and again each time the node is restarted.
  ///
  /// ```swift
  /// for node in ["a", "b", "c"] {
  ///   net.run(on: node) {
  ///     let server = Server(store: disks[node]!)
  ///     for await message in net.inbox(of: node) { await server.receive(message) }
  ///   }
  /// }
  /// ```
  ///
  /// The program runs in a task of its own. The task is cancelled when the node crashes, and when the body of the scope
  /// returns; an error that the program throws after that is ignored. Tasks that the program created, and that are not
  /// its child tasks, are not cancelled. After a crash, all that they send, and all that they do with the disks of the
  /// node, throws ``NodeCrashedError``. A detached task does not count as part of the node. Create the objects of a
  /// node in its program, so that a restarted program does not find old objects.
  ///
  /// If the program throws while the node runs, that is a failure of the test; a `CancellationError` is not. If the
  /// program returns, the node continues to run without it. A node may have several programs; they are started in the
  /// order in which they were added. A program that is added to a crashed node begins when the node is restarted. O(1).
  ///
  /// - Parameters:
  ///   - node: The name of the node.
  ///   - fileID: The file in which a failure is recorded, as `#fileID`.
  ///   - filePath: The file in which a failure is recorded, as `#filePath`.
  ///   - line: The line at which a failure is recorded.
  ///   - column: The column at which a failure is recorded.
  ///   - program: The program.
  public func run(
    on node: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column,
    _ program: @escaping @Sendable () async throws -> Void
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let index = nodes.index(of: node, in: "run(on:)", at: callSite) else { return }
    nodes.add(.init(callSite: callSite, body: program), to: index)
  }

  /// Stops a node without notice, as a power failure does.
  ///
  /// The crash does the following, in this order and without suspending:
  ///
  /// 1. Each disk of the node keeps its synced value or a later one.
  /// 2. The inboxes of the node end. Messages on their way to the node are lost; messages from the node are not.
  /// 3. The programs of the node are cancelled. Nothing that they still do reaches the network or a disk.
  ///
  /// Does nothing if the node has crashed already. O(tasks and inboxes of the node).
  public func crash(
    _ node: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let index = nodes.index(of: node, in: "crash(_:)", at: callSite) else { return }
    nodes.crash(index) { endLives(of: index, before: $0) }
  }

  /// Returns whether a node runs: it has not crashed, or was restarted since the crash. O(1).
  ///
  /// An invariant that concerns only running nodes can call this function. The answer for an unknown node is `false`.
  public func isRunning(
    _ node: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) -> Bool {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let index = nodes.index(of: node, in: "isRunning(_:)", at: callSite) else { return false }
    return nodes.isRunning(index)
  }

  /// Starts a node that has crashed: its programs begin again, and its disks have the values that survived.
  ///
  /// Does nothing if the node runs. O(programs of the node).
  public func restart(
    _ node: String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let index = nodes.index(of: node, in: "restart(_:)", at: callSite) else { return }
    nodes.restart(index)
  }

  /// Separates the nodes: two of them have contact only if a group contains both.
  ///
  /// Nodes that are in no group form one more group, so `partition(["a"])` separates `a` from all others. A node may be
  /// in several groups, and then has contact with all nodes in them. Messages between nodes without contact are lost,
  /// also those that are on their way and would arrive during the partition. A partition replaces the one before. O(n)
  /// for n nodes.
  public func partition(
    _ groups: [String]...,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    partition(groups, fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Separates the nodes into groups that are computed or chosen, as `partition(_:)` does. O(n) for n nodes.
  ///
  /// ```swift
  /// net.partition(time.choose([[["a"], ["b", "c"]], [["a", "b"], ["c"]]]))
  /// ```
  public func partition(
    _ groups: [[String]],
    fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    let callSite = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    let areKnown = groups.joined().allSatisfy {
      nodes.index(of: $0, in: "partition(_:)", at: callSite) != nil
    }
    if areKnown { nodes.part(groups) }
  }

  /// Ends the partition: all nodes have contact. O(1).
  public func heal() { nodes.heal() }
}
