import Clocks

/// Bugs that need two to four deviations from first in, first out: mutual exclusion by flags and turns, lock-free
/// lists, transactions, barriers.
extension KnownBug {
  static let ofDepth: [KnownBug] = [
    .hyman, .peterson, .bakery, .reusedNode, .readOnlyAnomaly, .barrier, .boundedMonitor,
    .readersQueue, .lateForks, .manyLateForks, .thumbnail, .cancelledReceiver,
  ]

  /// A room in which one task at a time may be.
  private actor Room {
    private(set) var most = 0
    private var inside = 0
    func enter() {
      inside += 1
      most = max(most, inside)
    }
    func leave() { inside -= 1 }
  }

  /// Runs two tasks that enter a room by the protocol. The first task is late.
  private static func exclusion(
    late: Int, _ protocol: @escaping @Sendable (_ me: Int, _ room: Room) async -> Void
  ) async throws {
    let room = Room()
    let tasks = (0..<2).map { me in
      Task(name: "process \(me)") {
        if me == 1 { await lookUp(late) }
        await `protocol`(me, room)
      }
    }
    for task in tasks { await task.value }
    try expect(await room.most == 1, "one at a time")
  }

  private struct Flags: Sendable {
    let wants = [Cell(false), Cell(false)]
    let turn = Cell(0)

    /// Waits until the other process does not want to enter, or it is this one's turn (Peterson, "Myths about the
    /// mutual exclusion problem", 1981).
    func enter(_ me: Int, turnFirst: Bool = false) async {
      if turnFirst { await turn.set(1 - me) }
      await wants[me].set(true)
      if !turnFirst { await turn.set(1 - me) }
      while await wants[1 - me].value {
        if await turn.value == me { return }
        await Task.yield()
      }
    }
  }

  /// Hyman's protocol (Communications of the ACM 9.1, 1966), which Knuth showed to be wrong in the same volume.
  static let hyman = KnownBug(
    name: "Hyman's protocol",
    buggy: { _ in
      let flags = Flags()
      try await exclusion(late: 4) { me, room in
        await flags.wants[me].set(true)
        while await flags.turn.value != me {
          while await flags.wants[1 - me].value { await Task.yield() }
          await flags.turn.set(me)
        }
        await room.enter()
        log("inside")
        await room.leave()
        await flags.wants[me].set(false)
      }
    },
    corrected: peterson(turnFirst: false))

  private static func peterson(turnFirst: Bool) -> Operation {
    { _ in
      let flags = Flags()
      try await exclusion(late: 4) { me, room in
        await flags.enter(me, turnFirst: turnFirst)
        await room.enter()
        log("inside")
        await room.leave()
        await flags.wants[me].set(false)
      }
    }
  }

  /// Peterson's protocol with its first two statements exchanged.
  static let peterson = KnownBug(
    name: "Peterson's protocol, exchanged", buggy: peterson(turnFirst: true),
    corrected: peterson(turnFirst: false))

  /// Lamport's bakery ("A New Solution of Dijkstra's Concurrent Programming Problem", 1974), without the wait for a
  /// process that is choosing its number.
  private static func bakery(waitsForChoice: Bool) -> Operation {
    { _ in
      let (isChoosing, number) = ([Cell(false), Cell(false)], [Cell(0), Cell(0)])
      try await exclusion(late: 5) { me, room in
        await isChoosing[me].set(true)
        let mine = await number[1 - me].value + 1
        log("\(mine)")
        await number[me].set(mine)
        await isChoosing[me].set(false)
        while waitsForChoice, await isChoosing[1 - me].value { await Task.yield() }
        while true {
          let other = await number[1 - me].value
          if other == 0 || (mine, me) < (other, 1 - me) { break }
          await Task.yield()
        }
        await room.enter()
        log("inside")
        await room.leave()
        await number[me].set(0)
      }
    }
  }

  static let bakery = KnownBug(
    name: "bakery", buggy: bakery(waitsForChoice: false), corrected: bakery(waitsForChoice: true))

  private actor Stack {
    private(set) var nodes = ["A", "B", "C"]
    private(set) var version = 0
    func pop() -> String {
      version += 1
      return nodes.removeFirst()
    }
    func push(_ node: String) {
      version += 1
      nodes.insert(node, at: 0)
    }
    /// The second half of a lock-free pop: `rest` is what was below the top when it was read.
    func replace(_ top: String, by rest: [String], version: Int?) -> Bool {
      guard nodes.first == top, version == nil || version == self.version else { return false }
      nodes = rest
      self.version += 1
      return true
    }
    func state() -> (nodes: [String], version: Int) { (nodes, version) }
  }

  /// ABA with three tasks, on a stack whose top is compared and exchanged.
  ///
  /// One task takes the top and puts it back, another one takes the node below it meanwhile (Treiber, "Systems
  /// Programming: Coping with Parallelism", 1986).
  private static func reusedNode(checksVersion: Bool) -> Operation {
    { _ in
      let (stack, taken) = (Stack(), Cell<[String]>([]))
      let slow = Task(name: "slow") {
        while true {
          let (nodes, version) = await stack.state()
          log(nodes[0])
          if await stack.replace(
            nodes[0], by: Array(nodes.dropFirst()), version: checksVersion ? version : nil)
          {
            return await taken.change { $0.append(nodes[0]) }
          }
        }
      }
      let borrower = Task(name: "borrower") {
        await lookUp(4)
        let node = await stack.pop()
        log(node)
        await stack.push(node)
      }
      let taker = Task(name: "taker") {
        await lookUp(9)
        let node = await stack.pop()
        await taken.change { $0.append(node) }
      }
      for task in [slow, borrower, taker] { await task.value }
      let free = await stack.nodes
      try expect(await taken.value.allSatisfy { !free.contains($0) }, "a taken node is not free")
    }
  }

  static let reusedNode = KnownBug(
    name: "ABA of three", buggy: reusedNode(checksVersion: false),
    corrected: reusedNode(checksVersion: true))

  /// A store with snapshots, in which the first of two transactions that write the same value wins.
  private actor Accounts {
    private(set) var values = ["checking": 0, "savings": 0]
    private var writes = ["checking": 0, "savings": 0]
    private var now = 0
    func begin() -> (values: [String: Int], time: Int) { (values, now) }
    /// - Parameter reads: The values on which the transaction depends.
    func commit(_ key: String, _ value: Int, reads: [String], since time: Int) -> Bool {
      guard (reads + [key]).allSatisfy({ writes[$0, default: 0] <= time }) else { return false }
      now += 1
      values[key] = value
      writes[key] = now
      return true
    }
  }

  /// A report sees the deposit, but not the withdrawal, and yet the withdrawal pays for an overdraft.
  ///
  /// Fekete, O'Neil, O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation", 2004.
  private static func readOnlyAnomaly(checksReads: Bool) -> Operation {
    { _ in
      let accounts = Accounts()
      let report = Task(name: "report") { await accounts.begin().values }
      let deposit = Task(name: "deposit") {
        await lookUp(4)
        while true {
          let (values, time) = await accounts.begin()
          let sum = values["savings", default: 0] + 20
          if await accounts.commit("savings", sum, reads: [], since: time) { return }
        }
      }
      let withdrawal = Task(name: "withdrawal") {
        await lookUp(9)
        while true {
          let (values, time) = await accounts.begin()
          let (checking, savings) = (values["checking", default: 0], values["savings", default: 0])
          let fee = checking + savings < 10 ? 1 : 0
          log("fee \(fee)")
          let reads = checksReads ? ["savings"] : []
          if await accounts.commit("checking", checking - 10 - fee, reads: reads, since: time) {
            return
          }
        }
      }
      let seen = await report.value
      for task in [deposit, withdrawal] { await task.value }
      let hasPaid = await accounts.values["checking"] == -11
      try expect(
        !hasPaid || seen["savings"] == 0 || seen["checking"] != 0,
        "a fee only without the deposit")
    }
  }

  static let readOnlyAnomaly = KnownBug(
    name: "read-only transaction", buggy: readOnlyAnomaly(checksReads: false),
    corrected: readOnlyAnomaly(checksReads: true))

  private actor Barrier {
    private let size: Int
    private var (arrived, isOpen) = (0, false)
    private var round = 0
    private var waiters: [UnsafeContinuation<Void, Never>] = []
    init(size: Int) { self.size = size }
    private func open() {
      for waiter in waiters { waiter.resume() }
      waiters = []
    }
    func arrive() async {
      arrived += 1
      if arrived == size {
        isOpen = true
        open()
      }
      if !isOpen { await withUnsafeContinuation { waiters.append($0) } }
    }
    func depart() {
      arrived -= 1
      if arrived == 0 { isOpen = false }
    }
    /// A barrier that counts rounds.
    func pass() async {
      arrived += 1
      guard arrived == size else { return await withUnsafeContinuation { waiters.append($0) } }
      arrived = 0
      open()
    }
  }

  /// A barrier that is used twice: a fast worker passes the second time before all have left.
  ///
  /// Downey, "The Little Book of Semaphores", on reusable barriers.
  private static func barrier(
    _ pass: @escaping @Sendable (Barrier) async -> Void
  ) -> Operation {
    { _ in
      let (barrier, rounds, worst) = (Barrier(size: 3), Cell([0, 0, 0]), Cell(0))
      let tasks = (0..<3).map { me in
        Task(name: "worker \(me)") {
          for _ in 0..<2 {
            await lookUp(me)
            await pass(barrier)
            let distance = await rounds.change {
              $0[me] += 1
              return ($0.max() ?? 0) - ($0.min() ?? 0)
            }
            await worst.change { $0 = max($0, distance) }
          }
        }
      }
      for task in tasks { await task.value }
      try expect(await worst.value < 2, "no worker is two rounds ahead")
    }
  }

  static let barrier = KnownBug(
    name: "barrier that is used twice",
    buggy: barrier { barrier in
      await barrier.arrive()
      log("open")
      await barrier.depart()
    },
    corrected: barrier { await $0.pass() })
}
