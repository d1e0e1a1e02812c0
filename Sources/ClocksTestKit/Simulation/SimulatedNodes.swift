import Clocks
import ClocksSupport

/// The nodes of a simulated network: which of them run, what they run, and which have contact.
///
/// This class does not depend on the type of the messages, so disks and other parts of a node need not depend on it.
final class SimulatedNodes: Sendable {
  /// One life of a node, from its start to its crash.
  struct Life: Sendable {
    let nodes: SimulatedNodes
    let node: Int
    /// The number of crashes before this life.
    let number: Int

    /// The life in which the current task was started. Tasks that this task creates inherit the value.
    @TaskLocal static var current: Life?
  }

  /// A program that a node runs each time it starts.
  struct Program: Sendable {
    let callSite: CallSite
    let body: @Sendable () async throws -> Void
  }

  private struct Node {
    var runs = true
    var crashes = 0
    var programs: [Program] = []
    /// The tasks of the present life, in the order of their creation: at most one for each program.
    var tasks: [Task<Void, Never>] = []
    /// The functions to call when the node crashes, in the order in which they were added.
    var crashHandlers: [@Sendable () -> Void] = []
  }

  let time: VirtualTime
  let names: [String]
  private let indices: [String: Int]
  /// Guards the variables below. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// Guarded by `lock`.
  nonisolated(unsafe) private var nodes: [Node]
  /// The groups of a partition; `nil` if all nodes have contact. Guarded by `lock`.
  nonisolated(unsafe) private var groups: [Set<Int>]?
  /// Whether the test is over: then no program starts, and errors that programs throw are ignored. Guarded by `lock`.
  nonisolated(unsafe) private var isOver = false

  /// - Parameter callSite: Where a failure is recorded if a name occurs twice.
  init(_ names: [String], in time: VirtualTime, at callSite: CallSite) {
    self.time = time
    var indices: [String: Int] = [:]
    var unique: [String] = []
    for name in names {
      guard indices[name] == nil else {
        recordFailure(
          """
          A simulated network expects a different name for each node, but "\(name)" occurs twice in \
          \(names). Remove one of them: there is one node of this name.
          """, at: callSite)
        continue
      }
      indices[name] = unique.count
      unique.append(name)
    }
    self.names = unique
    self.indices = indices
    nodes = unique.map { _ in Node() }
    time.whenBodyReturns { [weak self] in self?.end() }
  }

  /// Returns the number of a node; for an unknown name, records a failure and returns `nil`.
  func index(of name: String, in function: String, at callSite: CallSite) -> Int? {
    if let index = indices[name] { return index }
    recordFailure(
      """
      \(function) expects the name of a node of the network, one of \(names), but got "\(name)". Add it to \
      the `nodes:` of the network, or correct the name.
      """, at: callSite)
    return nil
  }

  // MARK: - State

  /// Returns the node's present life; `nil` if the node has crashed, or if the current task belongs to an earlier life.
  func presentLife(of node: Int) -> Int? {
    let own = Life.current
    return lock.withLock {
      guard nodes[node].runs else { return nil }
      let crashes = nodes[node].crashes
      if let own, own.nodes === self, own.node == node, own.number != crashes { return nil }
      return crashes
    }
  }

  func isRunning(_ node: Int) -> Bool { lock.withLock { nodes[node].runs } }

  /// Returns the present life of `receiver`; `nil` if it has crashed, or if it has no contact with `sender`.
  func reachableLife(of receiver: Int, from sender: Int) -> Int? {
    lock.withLock {
      nodes[receiver].runs && haveContact(sender, receiver) ? nodes[receiver].crashes : nil
    }
  }

  private func haveContact(_ one: Int, _ other: Int) -> Bool {
    guard one != other, let groups else { return true }
    return groups.contains { $0.contains(one) && $0.contains(other) }
  }

  /// Separates the nodes into groups. Those that are in no group form one more group.
  func part(_ groups: [[String]]) {
    time.mark("partition \(groups)")
    let parts = groups.map { Set($0.compactMap { indices[$0] }) }
    let rest = Set(names.indices).subtracting(parts.joined())
    lock.withLock { self.groups = parts + [rest] }
  }

  func heal() {
    time.mark("partition ends")
    lock.withLock { groups = nil }
  }

  // MARK: - Lives

  func onCrash(of node: Int, _ handler: @escaping @Sendable () -> Void) {
    lock.withLock { nodes[node].crashHandlers.append(handler) }
  }

  /// Ends the life of a node; does nothing if it has crashed already.
  ///
  /// - Parameter endLives: Ends the connections of the node's lives before the given one. It is called before the
  ///   node's tasks are cancelled.
  func crash(_ node: Int, endLives: (_ next: Int) -> Void) {
    let ended: Node? = lock.withLock {
      let before = nodes[node]
      guard before.runs else { return nil }
      nodes[node].runs = false
      nodes[node].crashes += 1
      nodes[node].tasks = []
      return before
    }
    guard let ended else { return }
    time.mark("crash of \(names[node])")
    for handler in ended.crashHandlers { handler() }
    endLives(ended.crashes + 1)
    for task in ended.tasks { task.cancel() }
  }

  /// Begins a new life of a node that has crashed; does nothing if it runs.
  func restart(_ node: Int) {
    let begun: (programs: [Program], life: Int)? = lock.withLock {
      guard !nodes[node].runs else { return nil }
      nodes[node].runs = true
      return (nodes[node].programs, nodes[node].crashes)
    }
    guard let begun else { return }
    time.mark("restart of \(names[node])")
    for program in begun.programs { start(program, on: node, in: begun.life) }
  }

  /// Ends and releases all programs. A program nearly always retains its network, which would otherwise never be freed.
  private func end() {
    // The programs are released without the lock: the last reference to one may free the user's objects, and the
    // network.
    let (programs, tasks) = lock.withLock {
      isOver = true
      defer {
        for node in nodes.indices {
          nodes[node].programs = []
          nodes[node].tasks = []
        }
      }
      return (nodes.map(\.programs), nodes.flatMap(\.tasks))
    }
    for task in tasks { task.cancel() }
    withExtendedLifetime(programs) {}
  }

  /// Runs a program on a node: now if the node runs, and at each later start.
  func add(_ program: Program, to node: Int) {
    let number: Int? = lock.withLock {
      guard !isOver else { return nil }
      nodes[node].programs.append(program)
      return nodes[node].runs ? nodes[node].crashes : nil
    }
    if let number { start(program, on: node, in: number) }
  }

  /// Runs a program in a life of a node.
  ///
  /// - Parameter number: The number of the life, read together with the decision to start. Thread B may crash the node
  ///   after thread A has decided.
  private func start(_ program: Program, on node: Int, in number: Int) {
    let life = Life(nodes: self, node: node, number: number)
    let work = Task(name: names[node]) {
      await Life.$current.withValue(life) {
        do {
          try await program.body()
        } catch is CancellationError {
        } catch is UnknownNodeError {
          // The call with the unknown name has already recorded a failure.
        } catch {
          self.programFailed(with: error, in: life, at: program.callSite)
        }
      }
    }
    // Another thread may have crashed the node meanwhile.
    let isTooLate = lock.withLock {
      guard !isOver, nodes[node].crashes == number else { return true }
      nodes[node].tasks.append(work)
      return false
    }
    if isTooLate { work.cancel() }
  }

  private func programFailed(with error: any Error, in life: Life, at callSite: CallSite) {
    let isOfPresentLife = lock.withLock {
      nodes[life.node].runs && nodes[life.node].crashes == life.number && !isOver
    }
    guard isOfPresentLife else { return }
    recordFailure(
      """
      The program of the node "\(names[life.node])" threw \(type(of: error)): \(error)
      A program ends by itself or when its node crashes. Catch the error in it, or crash the node there.
      """, at: callSite)
  }
}
