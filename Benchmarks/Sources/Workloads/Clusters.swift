#if canImport(ClocksTestKit)
  import Clocks
  import ClocksTestKit

  /// Five nodes that exchange 1,000 messages.
  extension Workloads {
    /// Each message has a latency and may be lost, and its sender sleeps after it.
    private static func exchangeMessages(in time: VirtualTime) async throws {
      let nodes = ["a", "b", "c", "d", "e"]
      let net = SimulatedNetwork<Int>(
        in: time, nodes: nodes, latency: .milliseconds(1) ... .milliseconds(10), loses: true)
      for node in nodes { net.run(on: node) { for await _ in net.inbox(of: node) {} } }
      try await withThrowingTaskGroup { group in
        for (number, node) in nodes.enumerated() {
          group.addTask {
            for message in 1...200 {
              let receiver = nodes[(number + 1 + message % 4) % 5]
              try await net.send(message, from: node, to: receiver)
              try await Task.sleep(for: .milliseconds(1))
            }
          }
        }
        try await group.waitForAll()
      }
    }

    /// Explores the exchange in `count` schedules.
    public static func clusters(_ count: Int) async -> Double {
      await nanoseconds(per: count) {
        let summary = try? await withSchedules(count, faults: 2) { time in
          try await exchangeMessages(in: time)
        }
        precondition(summary?.schedules == count, "The search has failed.")
      }
    }

    /// Runs the exchange `count` times in virtual time, on a perfect network.
    public static func scopesOfClusters(_ count: Int) async -> Double {
      await nanoseconds(per: count) {
        for _ in 0..<count {
          try? await withVirtualTime { time in try await exchangeMessages(in: time) }
        }
      }
    }
  }
#else
  extension Workloads {
    public static func clusters(_ count: Int) async -> Double { .nan }
    public static func scopesOfClusters(_ count: Int) async -> Double { .nan }
  }
#endif
