import Clocks
import ClocksTestKit
import TestTraits
import Testing

/// What is left of nodes and their programs when the test is over.
@Suite struct EndOfSimulationTests {
  @Test func aTestFreesItsNodesAndWhatTheyUse() async throws {
    final class Server: Sendable {
      let freed: Tally
      init(_ made: Tally, _ freed: Tally) {
        self.freed = freed
        made.add()
      }
      deinit { freed.add() }
    }
    let (made, freed) = (Tally(), Tally())
    try await withSchedules(50) { time in
      let net = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b"], latency: .zero ... .zero)
      for node in ["a", "b"] {
        net.run(on: node) {
          let server = Server(made, freed)
          for await _ in net.inbox(of: node) { withExtendedLifetime(server) {} }
        }
      }
      try await net.send(1, from: "a", to: "b")
    }
    #expect(made.value >= 2)
    #expect(freed.value == made.value)
    weak let net = try await withVirtualTime { time in
      let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
      net.run(on: "a") { for await _ in net.inbox(of: "a") {} }
      await time.settle()
      return net
    }
    #expect(net == nil)
  }

  @Test func undeliveredMessagesAndBytesAreFreed() async throws {
    weak let net = try await withVirtualTime { time in
      let net = SimulatedNetwork<Int>(
        in: time, nodes: ["a", "b"], latency: .seconds(1) ... .seconds(1), reorders: false)
      try await net.send(1, from: "a", to: "b")
      return net
    }
    #expect(net == nil)
    weak let client = try await withVirtualTime { time in
      let (client, server) = SimulatedConnection.pair(
        in: time, latency: .seconds(1) ... .seconds(1))
      try await client.write([1, 2])
      Task { for try await _ in server.chunks {} }
      return client
    }
    #expect(client == nil)
  }

  /// The programs are released without the lock of the nodes, which the network's end takes.
  @Test func aProgramMayFreeWhatUsesTheNetwork() async throws {
    final class Service: Sendable {
      let net: SimulatedNetwork<Int>
      let freed: Tally
      init(_ net: SimulatedNetwork<Int>, _ freed: Tally) { (self.net, self.freed) = (net, freed) }
      deinit {
        net.heal()
        freed.add()
      }
    }
    let freed = Tally()
    try await withVirtualTime { time in
      let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
      let service = Service(net, freed)
      net.run(on: "a") { withExtendedLifetime(service) {} }
      await time.settle()
    }
    #expect(freed.value == 1)
  }

  @Test func anErrorOfAProgramAfterTheTestIsIgnored() async throws {
    struct StoreError: Error {}
    let thrown = Tally()
    try await withVirtualTime { time in
      let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
      net.run(on: "a") {
        do {
          try await Task.sleep(for: .seconds(60))
        } catch {
          thrown.add()
          throw StoreError()
        }
      }
      await time.settle()
    }
    #expect(thrown.value == 1)
  }

  @Test func anUnknownNodeIsOneFailure() async throws {
    let issues = try await recordedIssues {
      try await withVirtualTime { time in
        let net = SimulatedNetwork<Int>(in: time, nodes: ["a"], latency: .zero ... .zero)
        net.run(on: "a") { try await net.send(1, from: "a", to: "z") }
        await time.settle()
      }
    }
    #expect(issues.count == 1)
    #expect(issues.first?.message.contains("\"z\"") == true)
  }
}
