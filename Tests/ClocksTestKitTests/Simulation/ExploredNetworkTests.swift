import Clocks
import ClocksTestKit
import Testing

/// The decisions of a search: what each of them may be, and that all are found.
@Suite struct ExploredNetworkTests {
  /// Runs two messages from `a` to `b` in all ways, and returns the lists of what has come, with the instants in ms.
  private func outcomes(
    latency: ClosedRange<Duration>, loses: Bool = false, reorders: Bool = true,
    duplicates: Bool = false, faults: Int = 0, messages: Int = 2
  ) async throws -> (found: Set<[String]>, isComplete: Bool) {
    let found = Log<[String]>()
    let summary = try await withSchedules(800, faults: faults) { time in
      let net = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b"], latency: latency, loses: loses, reorders: reorders,
        duplicates: duplicates)
      let log = Log<String>()
      net.run(on: "b") {
        for await message in net.inbox(of: "b") {
          log.add("\(message.payload) at \(time.now.offset / .milliseconds(1))")
        }
      }
      for number in 1...messages { try await net.send(number, from: "a", to: "b") }
      try await Task.sleep(for: .seconds(1))
      found.add(log.all)
    }
    return (Set(found.all), try #require(summary).isComplete)
  }

  @Test func aLatencyIsOneOfFour() async throws {
    let (found, isComplete) = try await outcomes(
      latency: .milliseconds(10) ... .milliseconds(40), messages: 1)
    #expect(found == [["1 at 10.0"], ["1 at 20.0"], ["1 at 30.0"], ["1 at 40.0"]])
    #expect(isComplete)
  }

  @Test func messagesOvertakeEachOtherUnlessTheOrderIsKept() async throws {
    let latency = Duration.milliseconds(10) ... .milliseconds(40)
    let free = try await outcomes(latency: latency).found
    let instants = [10, 20, 30, 40]
    var expected: Set<[String]> = []
    for (first, second) in instants.flatMap({ one in instants.map { (one, $0) } }) {
      let both = ["1 at \(first).0", "2 at \(second).0"]
      if first <= second { expected.insert(both) }
      if first >= second { expected.insert(both.reversed()) }
    }
    #expect(free == expected)
    let kept = try await outcomes(latency: latency, reorders: false).found
    var ordered: Set<[String]> = []
    for (first, second) in instants.flatMap({ one in instants.map { (one, $0) } }) {
      ordered.insert(["1 at \(first).0", "2 at \(max(first, second)).0"])
    }
    #expect(kept == ordered)
  }

  /// A message that is sent later, with a shorter latency, waits for the one before, and does not hurry it.
  @Test func aMessageThatKeepsTheOrderArrivesAtItsOwnInstant() async throws {
    let found = Log<Set<Int>>()
    let summary = try await withSchedules(800) { time in
      let net = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b"], latency: .milliseconds(10) ... .milliseconds(40),
        reorders: false)
      let first = Task {
        var inbox = net.inbox(of: "b").makeAsyncIterator()
        _ = await inbox.next()
        return Int(time.now.offset / .milliseconds(1))
      }
      try await net.send(1, from: "a", to: "b")
      try await Task.sleep(for: .milliseconds(25))
      try await net.send(2, from: "a", to: "b")
      found.add([await first.value])
    }
    #expect(summary != nil)
    #expect(found.all.reduce(into: []) { $0.formUnion($1) } == [10, 20, 30, 40])
  }

  @Test func aLossIsAFault() async throws {
    let latency = Duration.milliseconds(10) ... .milliseconds(10)
    let none: Set = [["1 at 10.0", "2 at 10.0"]]
    #expect(try await outcomes(latency: latency, loses: true, reorders: false).found == none)
    #expect(
      try await outcomes(latency: latency, reorders: false, faults: 2).found == none)
    #expect(
      try await outcomes(latency: latency, loses: true, reorders: false, faults: 1).found
        == none.union([["1 at 10.0"], ["2 at 10.0"]]))
    #expect(
      try await outcomes(latency: latency, loses: true, reorders: false, faults: 2).found
        == none.union([["1 at 10.0"], ["2 at 10.0"], []]))
  }

  @Test func aCopyIsAFault() async throws {
    let found = try await outcomes(
      latency: .milliseconds(10) ... .milliseconds(10), reorders: false, duplicates: true,
      faults: 1
    ).found
    #expect(
      found == [
        ["1 at 10.0", "2 at 10.0"], ["1 at 10.0", "1 at 10.0", "2 at 10.0"],
        ["1 at 10.0", "2 at 10.0", "2 at 10.0"],
      ])
  }

  @Test func aDiskKeepsTheSyncedValueOrALaterOne() async throws {
    let found = Log<Int>()
    let summary = try await withSchedules(100) { time in
      let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
      let disk = SimulatedDisk(0, of: "a", in: net)
      for value in 1...5 {
        try disk.write(value)
        if value == 3 { try await disk.sync() }
      }
      net.crash("a")
      net.restart("a")
      let survivor = try disk.read()
      // What has survived is on the disk.
      net.crash("a")
      net.restart("a")
      #expect(try disk.read() == survivor)
      found.add(survivor)
    }
    #expect(Set(found.all) == [3, 4, 5])
    #expect(summary?.isComplete == true)
  }

  /// A crash is possible between a write and the end of its sync, and then the value is in doubt.
  @Test func aSyncThatIsUnderWayDoesNotCount() async throws {
    let found = Log<Int>()
    try await withSchedules(200) { time in
      let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
      let disk = SimulatedDisk(
        0, of: "a", in: net, latency: .milliseconds(10) ... .milliseconds(10))
      net.run(on: "a") {
        guard try disk.read() == 0 else { return }
        try disk.write(1)
        try await disk.sync()
      }
      try await Task.sleep(for: .milliseconds(time.choose([5, 15])))
      let isUnderWay = time.now.offset == .milliseconds(5)
      net.crash("a")
      net.restart("a")
      let value = try disk.read()
      #expect(isUnderWay || value == 1)
      found.add(value)
    }
    #expect(Set(found.all) == [0, 1])
  }

  @Test func aReadReturnsAllOneOrHalfOfWhatHasArrived() async throws {
    let found = Log<[[UInt8]]>()
    let summary = try await withSchedules(1_000) { time in
      let (client, server) = SimulatedConnection.pair(in: time, latency: .zero ... .zero)
      try await client.write([1, 2, 3, 4])
      client.finish()
      try await Task.sleep(for: .milliseconds(1))
      var chunks: [[UInt8]] = []
      for try await chunk in server.chunks { chunks.append(chunk) }
      #expect(chunks.flatMap(\.self) == [1, 2, 3, 4])
      found.add(chunks)
    }
    #expect(
      Set(found.all) == [
        [[1, 2, 3, 4]],
        [[1], [2, 3, 4]], [[1], [2], [3, 4]], [[1], [2], [3], [4]],
        [[1, 2], [3, 4]], [[1, 2], [3], [4]],
      ])
    #expect(summary?.isComplete == true)
  }

  @Test func aWriteThatBreaksTheConnectionDeliversPartOfItsBytes() async throws {
    let found = Log<[UInt8]>()
    try await withSchedules(400, faults: 1) { time in
      let (client, server) = SimulatedConnection.pair(
        in: time, latency: .milliseconds(1) ... .milliseconds(1), splits: false, breaks: true)
      try await client.write([1, 2, 3, 4])
      try await client.write([5])
      client.finish()
      var bytes: [UInt8] = []
      do {
        for try await chunk in server.chunks { bytes += chunk }
      } catch {
        #expect(error is ConnectionLostError)
        bytes.append(0)
        await #expect(throws: ConnectionLostError.self) {
          for try await _ in client.chunks {}
        }
      }
      found.add(bytes)
    }
    #expect(
      Set(found.all) == [
        [1, 2, 3, 4, 5], [0], [1, 2, 0], [1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 0],
      ])
  }

  /// Returns the result of a search in which a connection is lost, and then used by calls that send nothing.
  private func search(usesLostConnection: Bool) async throws -> ScheduleSummary {
    let summary = try await withSchedules(800, faults: 1) { time in
      let (client, server) = SimulatedConnection.pair(
        in: time, latency: .milliseconds(1) ... .milliseconds(4), breaks: true)
      client.disconnect()
      if usesLostConnection {
        client.disconnect()
        client.finish()
        server.finish()
      }
    }
    return try #require(summary)
  }

  /// Returns the result of a search in which a peer that cannot know of a loss writes some bytes.
  private func search(writing bytes: [UInt8]) async throws -> ScheduleSummary {
    let summary = try await withSchedules(800, faults: 1) { time in
      let (client, server) = SimulatedConnection.pair(
        in: time, latency: .milliseconds(1) ... .milliseconds(4), breaks: true)
      client.disconnect()
      try await server.write(bytes)
    }
    return try #require(summary)
  }

  /// A search would try each latency, and each fault, although they make no difference.
  @Test func nothingIsDecidedOverABrokenConnection() async throws {
    for (least, found) in [
      (try await search(usesLostConnection: false), try await search(usesLostConnection: true)),
      (try await search(writing: []), try await search(writing: [1])),
    ] {
      #expect(least.isComplete && found.isComplete)
      #expect(least.orders == found.orders)
    }
  }

  /// The same seed decides the same, and a token replays it in another search.
  @Test func aFailureHasATokenThatReplaysIt() async throws {
    let operation: @Sendable (VirtualTime) async throws -> Void = { time in
      let net = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b"], latency: .milliseconds(1) ... .milliseconds(4), loses: true)
      let log = Log<Int>()
      net.run(on: "b") { for await message in net.inbox(of: "b") { log.add(message.payload) } }
      for number in 1...3 { try await net.send(number, from: "a", to: "b") }
      try await Task.sleep(for: .seconds(1))
      #expect(log.all != [3, 1])
    }
    func search() async throws -> [Failure] {
      try await failures { try await withSchedules(2_000, faults: 1, operation: operation) }
    }
    let found = try await search()
    #expect(found.count == 1)
    let failure = try #require(found.first)
    #expect(failure.text.contains("fault \"loses a → b\""), "\(failure)")
    #expect(try await search() == found)
    try await expectReplay(of: failure, operation)
  }
}
