import Clocks
import ClocksTestKit
import Testing

/// Delivery outside a search: each instant and each order is known.
@Suite struct SimulatedNetworkTests {
  private let time: VirtualTime

  init() throws { time = try VirtualTime.required }

  private func network(
    latency: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(50), loses: Bool = false,
    reorders: Bool = true, duplicates: Bool = false
  ) -> SimulatedNetwork<Int> {
    SimulatedNetwork(
      in: time, nodes: ["a", "b", "c"], latency: latency, loses: loses, reorders: reorders,
      duplicates: duplicates)
  }

  /// Notes what comes to an inbox, and when, in milliseconds.
  private func arrivals(_ inbox: AsyncStream<Envelope<Int>>) -> Log<String> {
    let log = Log<String>()
    Task { [time] in
      for await message in inbox {
        log.add("\(time.now.offset / .milliseconds(1)) \(message.payload) \(message.sender)")
      }
      log.add("end")
    }
    return log
  }

  @Test(.virtualTime, arguments: [true, false])
  func arrivesAfterTheLeastLatencyInOrder(isUnreliable: Bool) async throws {
    let net = network(loses: isUnreliable, reorders: isUnreliable, duplicates: isUnreliable)
    let log = arrivals(net.inbox(of: "b"))
    for number in 1...3 { try await net.send(number, from: "a", to: "b") }
    try await Task.sleep(for: .milliseconds(2))
    try await net.send(4, from: "c", to: "b")
    await time.advance(by: .seconds(1))
    #expect(log.all == ["5.0 1 a", "5.0 2 a", "5.0 3 a", "7.0 4 c"])
  }

  @Test(.virtualTime) func anEnvelopeSaysWhoSentItAndWhen() async throws {
    let net = network()
    try await Task.sleep(for: .seconds(2))
    try await net.send(7, from: "a", to: "b")
    var inbox = net.inbox(of: "b").makeAsyncIterator()
    let message = await inbox.next()
    #expect(
      message == Envelope(payload: 7, sender: "a", sentAt: .init(offset: .seconds(2))))
    #expect(time.now == .init(offset: .milliseconds(2_005)))
  }

  @Test(.virtualTime) func aMessageWithoutLatencyArrivesNow() async throws {
    let net = network(latency: .zero ... .zero)
    try await net.send(1, from: "a", to: "a")
    var inbox = net.inbox(of: "a").makeAsyncIterator()
    #expect(await inbox.next()?.payload == 1)
    #expect(time.now == .init())
  }

  // MARK: - Inboxes

  @Test(.virtualTime) func keepsMessagesForTheFirstInboxAndThenPassesThemToEach() async throws {
    let net = network()
    try await net.send(1, from: "a", to: "b")
    await time.advance(by: .milliseconds(10))
    let first = arrivals(net.inbox(of: "b"))
    let second = arrivals(net.inbox(of: "b"))
    try await net.send(2, from: "a", to: "b")
    await time.advance(by: .milliseconds(10))
    #expect(first.all == ["10.0 1 a", "15.0 2 a"])
    #expect(second.all == ["15.0 2 a"])
  }

  @Test(.virtualTime) func aCancelledReaderEndsItsInboxAndMessagesAreKept() async throws {
    let net = network()
    let inbox = net.inbox(of: "b")
    let reader = Task { for await _ in inbox {} }
    await time.settle()
    reader.cancel()
    await reader.value
    try await net.send(1, from: "a", to: "b")
    await time.advance(by: .milliseconds(10))
    // The message has arrived while the node had no inbox, so it is kept for the next one.
    let next = arrivals(net.inbox(of: "b"))
    await time.settle()
    #expect(next.all == ["10.0 1 a"])
  }

  @Test(.virtualTime) func aNetworkThatIsFreedEndsItsInboxes() async throws {
    var net: SimulatedNetwork<Int>? = network()
    weak let weakNet = net
    let log = try arrivals(#require(net).inbox(of: "b"))
    try await net?.send(1, from: "a", to: "b")
    net = nil
    #expect(weakNet != nil, "the message that is on its way keeps it")
    await time.advance(by: .seconds(1))
    #expect(weakNet == nil)
    #expect(log.all == ["5.0 1 a", "end"])
  }

  @Test(.virtualTime) func aNodeRunsUntilItCrashes() {
    let net = network()
    #expect(net.isRunning("a"))
    net.crash("a")
    #expect(!net.isRunning("a"))
    #expect(net.isRunning("b"))
    net.restart("a")
    #expect(net.isRunning("a"))
  }

  // MARK: - Partitions

  @Test(.virtualTime) func aPartitionMayBeChosen() async throws {
    let net = network()
    let log = arrivals(net.inbox(of: "b"))
    net.partition(time.choose([[["a"], ["b", "c"]], [["a", "b"], ["c"]]]))
    try await net.send(1, from: "a", to: "b")
    try await net.send(2, from: "c", to: "b")
    await time.advance(by: .seconds(1))
    #expect(log.all == ["5.0 2 c"])
  }

  @Test(.virtualTime) func aPartitionLosesWhatCrossesIt() async throws {
    let net = network()
    let log = arrivals(net.inbox(of: "b"))
    net.partition(["a"])
    try await net.send(1, from: "a", to: "b")
    try await net.send(2, from: "c", to: "b")
    net.heal()
    try await net.send(3, from: "a", to: "b")
    await time.advance(by: .milliseconds(2))
    try await net.send(4, from: "a", to: "b")
    await time.advance(by: .milliseconds(2))
    // 3 and 4 are on their way; 3 would arrive during the partition.
    net.partition(["a", "c"], ["b"])
    await time.advance(by: .milliseconds(2))
    net.heal()
    await time.advance(by: .seconds(1))
    #expect(log.all == ["7.0 4 a"])
  }

  @Test(.virtualTime) func aNodeInTwoGroupsHasContactWithBoth() async throws {
    let net = network()
    let a = arrivals(net.inbox(of: "a"))
    let b = arrivals(net.inbox(of: "b"))
    net.partition(["a", "b"], ["b", "c"])
    for sender in ["a", "b", "c"] {
      for receiver in ["a", "b"] { try await net.send(0, from: sender, to: receiver) }
    }
    await time.advance(by: .seconds(1))
    #expect(a.all == ["5.0 0 a", "5.0 0 b"])
    #expect(b.all == ["5.0 0 a", "5.0 0 b", "5.0 0 c"])
  }

  // MARK: - Misuse

  @Test(.virtualTime) func anUnknownNodeIsAFailureAtTheCall() async throws {
    let net = network()
    var lines: [Int] = []
    let found = try await failures {
      _ = net.inbox(of: "x")
      lines.append(#line - 1)
      net.crash("x")
      lines.append(#line - 1)
      net.restart("x")
      lines.append(#line - 1)
      net.partition(["a", "x"], ["b"])
      lines.append(#line - 1)
      net.run(on: "x") {}
      lines.append(#line - 1)
      _ = SimulatedDisk(0, of: "x", in: net)
      lines.append(#line - 1)
      do {
        try await net.send(1, from: "a", to: "x")
      } catch {
        lines.append(#line - 2)
        #expect(error as? UnknownNodeError == UnknownNodeError(node: "x"))
      }
      do {
        try await net.send(1, from: "x", to: "a")
      } catch {
        lines.append(#line - 2)
        #expect(error as? UnknownNodeError == UnknownNodeError(node: "x"))
      }
    }
    let functions = [
      "inbox(of:)", "crash(_:)", "restart(_:)", "partition(_:)", "run(on:)",
      "SimulatedDisk(_:of:in:)", "send(_:from:to:)", "send(_:from:to:)",
    ]
    let expected = zip(functions, lines).map { function, line in
      Failure(
        text: """
          \(function) expects the name of a node of the network, one of ["a", "b", "c"], but got "x". Add it \
          to the `nodes:` of the network, or correct the name.
          """, line: line)
    }
    #expect(found == expected)
    // The partition that was refused has no effect.
    let log = arrivals(net.inbox(of: "b"))
    try await net.send(1, from: "a", to: "b")
    await time.advance(by: .seconds(1))
    #expect(log.all == ["5.0 1 a"])
  }

  @Test(.virtualTime) func aWrongNetworkIsAFailureAtTheCall() async throws {
    var found = try await failures {
      _ = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b", "a"], latency: .zero ... .seconds(1))
    }
    #expect(found.map(\.line) == [#line - 3])
    #expect(found.first?.text.contains("\"a\" occurs twice in [\"a\", \"b\", \"a\"]") == true)
    found = try await failures {
      _ = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .seconds(-1) ... .seconds(1))
    }
    #expect(found.map(\.line) == [#line - 2])
    #expect(found.first?.text.contains("but got -1.0 seconds to 1.0 seconds") == true)
  }

  @Test(.virtualTime) func aCancelledTaskSendsNothing() async throws {
    let net = network()
    let log = arrivals(net.inbox(of: "b"))
    let sender = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await net.send(1, from: "a", to: "b")
    }
    await #expect(throws: CancellationError.self) { try await sender.value }
    await time.advance(by: .seconds(1))
    #expect(log.all == [])
  }
}
