import Clocks
import ClocksTestKit
import Dispatch
import Testing

/// Crashes and restarts outside a search.
@Suite struct NodeTests {
  private let time: VirtualTime
  private let net: SimulatedNetwork<String>

  init() throws {
    time = try VirtualTime.required
    net = SimulatedNetwork(
      in: time, nodes: ["a", "b"], latency: .milliseconds(10) ... .milliseconds(10))
  }

  @Test(.virtualTime) func aCrashEndsTheInboxAndLosesWhatIsOnItsWay() async throws {
    let log = Log<String>()
    net.run(on: "b") { [net] in
      log.add("start")
      for await message in net.inbox(of: "b") { log.add(message.payload) }
      log.add("end")
    }
    try await net.send("1", from: "a", to: "b")
    await time.advance(by: .milliseconds(10))
    try await net.send("on its way", from: "a", to: "b")
    await time.advance(by: .milliseconds(5))
    net.crash("b")
    net.crash("b")
    var ended = net.inbox(of: "b").makeAsyncIterator()
    #expect(await ended.next() == nil)
    try await net.send("to a crashed node", from: "a", to: "b")
    net.restart("b")
    net.restart("b")
    try await net.send("2", from: "a", to: "b")
    await time.advance(by: .seconds(1))
    #expect(log.all == ["start", "1", "end", "start", "2"])
  }

  @Test(.virtualTime) func aMessageSentBeforeACrashArrives() async throws {
    try await net.send("last words", from: "a", to: "b")
    net.crash("a")
    var inbox = net.inbox(of: "b").makeAsyncIterator()
    #expect(await inbox.next()?.payload == "last words")
    await #expect(throws: NodeCrashedError(node: "a")) {
      try await net.send("more", from: "a", to: "b")
    }
  }

  @Test(.virtualTime) func aCrashLosesMessagesThatWereKept() async throws {
    try await net.send("kept", from: "a", to: "b")
    await time.advance(by: .milliseconds(20))
    net.crash("b")
    net.restart("b")
    let count = Tally()
    Task { [net] in for await _ in net.inbox(of: "b") { count.add() } }
    await time.settle()
    #expect(count.value == 0)
  }

  @Test(.virtualTime) func aCrashCancelsThePrograms() async throws {
    let log = Log<String>()
    for name in ["first", "second"] {
      net.run(on: "a") { [time] in
        do {
          try await Task.sleep(for: .seconds(10))
        } catch {
          log.add("\(name) \(time.now.offset / .seconds(1))")
          throw error
        }
      }
    }
    net.run(on: "b") { log.add("b") }
    try await Task.sleep(for: .seconds(3))
    net.crash("a")
    await time.settle()
    #expect(log.all == ["b", "first 3.0", "second 3.0"])
    net.restart("a")
    await time.advance(by: .seconds(20))
    #expect(log.all == ["b", "first 3.0", "second 3.0"])
  }

  /// A task that is not cancelled continues, but can change nothing.
  @Test(.virtualTime) func aTaskThatIsLeftBehindReachesNothing() async throws {
    let log = Log<String>()
    let disk = SimulatedDisk(0, of: "a", in: net)
    net.run(on: "a") { [net] in
      guard log.all.isEmpty else { return }
      log.add("first life")
      Task {
        try await Task.sleep(for: .seconds(1))
        #expect(throws: NodeCrashedError(node: "a")) { try disk.read() }
        #expect(throws: NodeCrashedError(node: "a")) { try disk.write(1) }
        await #expect(throws: NodeCrashedError(node: "a")) { try await disk.sync() }
        await #expect(throws: NodeCrashedError(node: "a")) {
          try await net.send("x", from: "a", to: "b")
        }
        var inbox = net.inbox(of: "a").makeAsyncIterator()
        #expect(await inbox.next() == nil)
        log.add("left behind")
      }
    }
    await time.settle()
    net.crash("a")
    net.restart("a")
    await time.advance(by: .seconds(2))
    #expect(log.all == ["first life", "left behind"])
    #expect(try disk.read() == 0)
  }

  @Test(.virtualTime) func aProgramForACrashedNodeBeginsWithItsRestart() async throws {
    let count = Tally()
    net.crash("a")
    net.run(on: "a") { count.add() }
    await time.settle()
    #expect(count.value == 0)
    net.restart("a")
    await time.settle()
    #expect(count.value == 1)
  }

  /// Another thread restarts the node at the same time.
  @Test(.virtualTime) func noProgramRunsOnACrashedNode() async throws {
    let (begun, ended) = (Tally(), Tally())
    net.run(on: "a") {
      begun.add()
      defer { ended.add() }
      try await Task.sleep(for: .seconds(1_000_000))
    }
    for _ in 0..<500 {
      net.crash("a")
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) { [net] in net.restart("a") }
      DispatchQueue.global().async(group: group) { [net] in net.crash("a") }
      await withCheckedContinuation { continuation in
        group.notify(queue: .global()) { continuation.resume() }
      }
      net.crash("a")
      await time.settle()
      try #require(begun.value == ended.value)
    }
    #expect(begun.value > 0)
  }

  @Test(.virtualTime) func aProgramThatThrowsIsAFailureAtItsLine() async throws {
    struct Boom: Error {}
    let line = #line + 2
    let found = try await failures {
      net.run(on: "a") { throw Boom() }
      net.run(on: "b") { throw CancellationError() }
      await time.settle()
    }
    #expect(
      found == [
        Failure(
          text: """
            The program of the node "a" threw Boom: Boom()
            A program ends by itself or when its node crashes. Catch the error in it, or crash the node there.
            """, line: line)
      ])
  }

  @Test(.virtualTime) func anErrorAfterTheCrashIsNoFailure() async throws {
    struct Boom: Error {}
    let found = try await failures {
      net.run(on: "a") {
        try? await Task.sleep(for: .seconds(1))
        throw Boom()
      }
      await time.settle()
      net.crash("a")
      await time.advance(by: .seconds(2))
    }
    #expect(found == [])
  }

  // MARK: - Disks

  @Test(.virtualTime) func aDiskSurvivesACrash() async throws {
    let disk = SimulatedDisk(["initial"], of: "a", in: net)
    #expect(try disk.read() == ["initial"])
    try disk.write(["written"])
    #expect(try disk.read() == ["written"])
    net.crash("a")
    #expect(throws: NodeCrashedError(node: "a")) { try disk.read() }
    net.restart("a")
    // Outside a search nothing is lost.
    #expect(try disk.read() == ["written"])
  }

  @Test(.virtualTime) func aSyncTakesItsTimeAndEndsWithTheNode() async throws {
    let disk = SimulatedDisk(
      0, of: "a", in: net, latency: .milliseconds(30) ... .milliseconds(90))
    try disk.write(1)
    try await disk.sync()
    #expect(time.now == .init(offset: .milliseconds(30)))
    let sync = Task { try await disk.sync() }
    await time.advance(by: .milliseconds(10))
    net.crash("a")
    net.restart("a")
    await #expect(throws: NodeCrashedError(node: "a")) { try await sync.value }
    let cancelled = Task { try await disk.sync() }
    await time.settle()
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test(.virtualTime) func aNetworkKeepsNoDisk() async throws {
    var disk: SimulatedDisk<Int>? = SimulatedDisk(0, of: "a", in: net)
    weak let weakDisk = disk
    disk = nil
    #expect(weakDisk == nil)
    net.crash("a")
  }
}
