import Clocks
import Foundation
import Testing

@testable import ClocksTestKit

/// Calls that make no sense: they have a stated effect, or are a failure at the line of the call, and never stop the
/// program or wait forever.
@Suite struct HostileSimulationTests {
  private typealias Net = SimulatedNetwork<Int>

  @Test(.virtualTime) func aNetworkWithoutNodesHasNone() async throws {
    let time = try VirtualTime.required
    let net = Net(in: time, nodes: [], latency: .zero ... .zero)
    net.partition()
    net.partition([])
    net.heal()
    let found = try await failures {
      net.crash("")
      await #expect(throws: UnknownNodeError(node: "")) { try await net.send(1, from: "", to: "") }
    }
    #expect(found.map(\.line) == [#line - 3, #line - 2])
    #expect(found.allSatisfy { $0.text.contains("one of [], but got \"\"") })
  }

  @Test(.virtualTime) func aPartitionMayNameANodeTwiceOrNoNode() async throws {
    let time = try VirtualTime.required
    let net = Net(in: time, nodes: ["a", "b", "c"], latency: .zero ... .zero)
    let log = Log<Int>()
    net.run(on: "b") { for await message in net.inbox(of: "b") { log.add(message.payload) } }
    net.partition(["a", "a"], ["b", "b"], [])
    try await net.send(1, from: "a", to: "b")
    try await net.send(2, from: "c", to: "b")
    // One group of all nodes.
    for (number, groups) in [[], [[]], [["a", "b", "c"]]].enumerated() {
      switch groups.count {
      case 0: net.partition()
      default: net.partition(groups[0])
      }
      try await net.send(3 + number, from: "a", to: "b")
    }
    await time.settle()
    #expect(log.all == [3, 4, 5])
  }

  /// An object that calls a function when it is released.
  private final class Caller: Sendable {
    let call: @Sendable () -> Void

    init(_ call: @escaping @Sendable () -> Void) { self.call = call }

    deinit { call() }
  }

  @Test(.virtualTime) func anObjectThatIsReleasedMayUseItsNetworkAndItsDisk() async throws {
    let time = try VirtualTime.required
    let net = SimulatedNetwork<Caller>(in: time, nodes: ["a", "b"], latency: .zero ... .zero)
    let disk = SimulatedDisk<Caller?>(nil, of: "a", in: net)
    let log = Log<String>()
    let caller = { @Sendable (name: String) in
      Caller {
        _ = try? disk.read()
        _ = net.inbox(of: "a")
        log.add(name)
      }
    }
    try await net.send(caller("kept"), from: "a", to: "b")
    await time.settle()
    net.crash("b")
    #expect(log.all == ["kept"])
    try disk.write(caller("synced"))
    try disk.write(nil)
    try await disk.sync()
    #expect(log.all == ["kept", "synced"])
    try disk.write(caller("lost"))
    try disk.write(nil)
    net.crash("a")
    #expect(log.all == ["kept", "synced", "lost"])
  }

  @Test func aProgramMayCrashItsOwnNode() async throws {
    let ends = Log<[String]>()
    let summary = try await withSchedules(200) { time in
      let net = Net(in: time, nodes: ["a", "b"], latency: .zero ... .zero)
      let log = Log<String>()
      net.run(on: "a") {
        guard log.all.isEmpty else { return log.add("second life") }
        net.crash("a")
        net.crash("a")
        log.add("cancelled: \(Task.isCancelled)")
        net.restart("a")
        net.restart("a")
        do {
          try await net.send(1, from: "a", to: "b")
        } catch {
          log.add("\(type(of: error))")
          // No failure: the life is over.
          throw error
        }
      }
      await time.settle()
      ends.add(log.all.sorted())
    }
    #expect(summary?.isComplete == true)
    #expect(Set(ends.all) == [["NodeCrashedError", "cancelled: true", "second life"]])
  }

  /// A thread may restart a node while another thread still crashes it.
  @Test(.virtualTime) func theInboxOfANewLifeSurvivesTheCrashOfTheOldOne() async throws {
    let net = Net(in: try VirtualTime.required, nodes: ["a", "b"], latency: .zero ... .zero)
    let old = net.inbox(of: "a")
    let new = Log<AsyncStream<Envelope<Int>>>()
    net.nodes.onCrash(of: 0) {
      net.restart("a")
      new.add(net.inbox(of: "a"))
    }
    net.crash("a")
    try await net.send(1, from: "b", to: "a")
    var messages = new.all[0].makeAsyncIterator()
    #expect(await messages.next()?.payload == 1)
    var ended = old.makeAsyncIterator()
    #expect(await ended.next() == nil)
  }

  /// What is left of a network, a disk and a connection after their scope neither waits nor fails.
  @Test func partsMayOutliveTheirScope() async throws {
    var parts: (Net, SimulatedDisk<Int>, SimulatedConnection, SimulatedConnection)?
    try await withVirtualTime { time in
      let net = Net(in: time, nodes: ["a", "b"], latency: .seconds(1) ... .seconds(2))
      let (one, other) = SimulatedConnection.pair(in: time, latency: .seconds(1) ... .seconds(2))
      net.run(on: "b") { for await _ in net.inbox(of: "b") {} }
      try await net.send(1, from: "a", to: "b")
      parts = (net, SimulatedDisk(0, of: "a", in: net), one, other)
    }
    let (net, disk, one, other) = try #require(parts)
    try await net.send(2, from: "a", to: "b")
    try await one.write([1])
    other.disconnect()
    try disk.write(1)
    try await disk.sync()
    net.partition(["a"])
    net.crash("b")
    net.restart("b")
    net.crash("a")
    #expect(throws: NodeCrashedError(node: "a")) { try disk.read() }
  }

  @Test func latenciesMayHaveAnyLength() async throws {
    let longest = Duration(attoseconds: .max)
    let summary = try await withSchedules(40) { time in
      let net = Net(in: time, nodes: ["a", "b"], latency: .zero...longest)
      try await net.send(1, from: "a", to: "b")
      let (one, other) = SimulatedConnection.pair(in: time, latency: longest...longest)
      try await one.write([1])
      other.finish()
    }
    #expect(summary != nil)
    let found = try await failures {
      try await withVirtualTime { time in
        let net = Net(in: time, nodes: ["a"], latency: .zero ... .zero)
        _ = SimulatedDisk(0, of: "a", in: net, latency: .seconds(-2) ... .seconds(-1))
        _ = SimulatedConnection.pair(in: time, latency: .seconds(-2) ... .seconds(-1))
      }
    }
    #expect(found.map(\.line) == [#line - 4, #line - 3])
    #expect(
      found.map { $0.text.prefix(while: { $0 != "," }) } == [
        "A simulated disk expects a range of durations of zero or more",
        "A simulated connection expects a range of durations of zero or more",
      ])
  }

  /// Nodes, faults and choices in code that no search knows.
  @Test func outsideASearchNothingIsDecided() async throws {
    let outer = Log<String>()
    try await withSchedules(20, faults: 5) { time in
      // A scope within, and a block on a queue: no task of the search runs them.
      try await withVirtualTime { _ in
        #expect(time.choose([1, 2]) == 1)
        #expect(!time.fault("inner"))
      }
      let stranger = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        outer.add("\(time.choose([1, 2])) \(time.fault("queue"))")
        stranger.signal()
      }
      stranger.wait()
    }
    #expect(Set(outer.all) == ["1 false"])
  }

  @Test(arguments: [-1, Int.min]) func aBoundBelowZeroIsRefused(_ bound: Int) async throws {
    let strikes = Log<Bool>()
    let found = try await failures {
      try await withSchedules(10, faults: bound) { time in
        strikes.add(time.fault("never"))
      }
    }
    #expect(strikes.all.isEmpty)
    #expect(found.map(\.line) == [#line - 5], "\(found)")
  }

  @Test func aBoundMayBeHuge() async throws {
    let strikes = Log<Int>()
    let summary = try await withSchedules(50, faults: .max) { time in
      strikes.add((1...3).count { time.fault("\($0)") })
    }
    #expect(summary?.orders == 8)
    #expect(Set(strikes.all) == [0, 1, 2, 3])
  }

  @Test func eventuallyRefusesANegativeNumberOfSteps() async throws {
    let found = try await failures {
      try await withVirtualTime { time in
        time.eventually(within: -1, "never") { false }
        time.eventually(within: .max, "now") { true }
      }
    }
    #expect(found.map(\.line) == [#line - 4])
    #expect(
      found.first?.text
        == "`within:` is a number of steps, 0 or more; it is -1. Nothing is checked.")
  }

  /// There is nothing to return, so the process ends, and names the call.
  @Test func aChoiceOfNothingNamesTheCall() async throws {
    let process = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await withSchedules(10) { time in
        _ = time.choose([Int]())
      }
    }
    let text = String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
    #expect(
      text.contains("`choose` expects one option or more; this Array<Int> is empty."), "\(text)")
    // The macro moves its body to its own line.
    #expect(text.contains("HostileSimulationTests.swift:\(#line - 9)"), "\(text)")
  }

  /// A token whose choices do not exist is distinguished from a valid one.
  @Test(arguments: [
    "2:a?1=99999999999999999999:0000", "2:a?0=1:0000", "2:a!1=1:0000", "2:?1=1:0000",
  ])
  func aDamagedTokenIsAFailure(_ token: String) async throws {
    let runs = Log<Int>()
    let found = try await failures {
      try await withSchedules(.schedule(token)) { time in runs.add(time.choose([1, 2])) }
    }
    #expect(found.count == 1)
    #expect(found.first?.text.contains("is not part of a token") == true, "\(found)")
    #expect(runs.all.isEmpty)
  }

  /// An option beyond the last one counts as the last. A choice that does not occur is reported.
  @Test func aTokenForAnotherTestSaysSo() async throws {
    let runs = Log<Int>()
    let found = try await failures {
      try await withSchedules(.schedule("2:0?1=1000000,c!7:0000")) { time in
        runs.add(time.choose([1, 2]))
      }
    }
    #expect(runs.all == [2])
    #expect(found.count == 1)
    let text = try #require(found.first?.text)
    #expect(
      text.hasPrefix("The schedule \"2:0?1=1000000,c!7:0000\" is no longer possible: "), "\(text)")
    #expect(text.contains(" did not come. The token belongs to another test"), "\(text)")
  }
}
