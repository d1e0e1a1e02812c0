import Clocks
import ClocksTestKit
import Testing

// The examples of Docs/Simulation.md.

/// What the counter must not forget.
struct Visits: Sendable {
  var count = 0
  /// The requests that are counted.
  var requests: Set<Int> = []
}

/// A file, for example.
protocol VisitStore: Sendable {
  func write(_ visits: Visits) throws
  /// Returns when what was written survives a crash.
  func sync() async throws
}

/// Counts the visits of a site that its web servers report. A request may come again, and is counted once.
actor VisitCounter {
  private(set) var visits: Visits
  private let store: any VisitStore

  init(_ visits: Visits, store: any VisitStore) {
    self.visits = visits
    self.store = store
  }

  /// Returns when the visits survive a crash.
  func add(_ count: Int, request: Int) async throws {
    guard visits.requests.insert(request).inserted else { return }
    visits.count += count
    try store.write(visits)
    try await store.sync()
  }
}

struct NoStore: VisitStore {
  func write(_ visits: Visits) {}
  func sync() async throws { try await Task.sleep(for: .milliseconds(10)) }
}

extension VisitCounter {
  /// Returns when the visits survive a crash. The corrected version.
  func addSafely(_ count: Int, request: Int) async throws {
    if visits.requests.insert(request).inserted {
      visits.count += count
      try store.write(visits)
    }
    // The first request may be waiting still.
    try await store.sync()
  }
}

enum VisitMessage: Hashable, Sendable {
  case add(Int, request: Int)
  case added(request: Int)
}

extension SimulatedDisk: VisitStore where Value == Visits {}

/// Reports visits again and again until the counter has confirmed them, as a web server does.
func report(
  _ count: Int, request: Int, over net: SimulatedNetwork<VisitMessage>
) async throws {
  let reports = Task {
    while true {
      try await net.send(.add(count, request: request), from: "web", to: "counter")
      try await Task.sleep(for: .milliseconds(200))
    }
  }
  defer { reports.cancel() }
  for await message in net.inbox(of: "web")
  where message.payload == .added(request: request) { return }
}

/// The clock of a node: in a second of the scope it advances by `rate` seconds.
struct NodeClock: Clock {
  typealias Instant = VirtualTime.Instant
  let clock: TestClock<Swift.Duration>
  let rate: Double

  var now: Instant { Instant(offset: clock.now.offset * rate) }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: Instant(offset: deadline.offset / rate), tolerance: tolerance)
  }
}

private struct LostVisits: Error {
  let count: Int
}

struct SimulationGuideExample {
  @Test(.schedules(200)) func countsVisits() async throws {
    let counter = VisitCounter(Visits(), store: NoStore())
    async let first: Void = counter.add(1, request: 1)
    async let second: Void = counter.add(2, request: 2)
    async let again: Void = counter.add(2, request: 2)
    _ = try await (first, second, again)
    #expect(await counter.visits.count == 3)
  }

  @Test(.schedules(100, faults: 2)) func countsVisitsOverANetwork() async throws {
    let time = try VirtualTime.required
    let net = SimulatedNetwork<VisitMessage>(
      in: time, nodes: ["counter", "web"], latency: .milliseconds(5) ... .milliseconds(50),
      loses: true, duplicates: true)
    let counter = VisitCounter(Visits(), store: NoStore())
    time.always("no visit is counted twice", on: counter) { $0.visits.count <= 20 }
    net.run(on: "counter") {
      for await message in net.inbox(of: "counter") {
        guard case .add(let count, let request) = message.payload else { continue }
        try await counter.add(count, request: request)
        try await net.send(.added(request: request), from: "counter", to: message.sender)
      }
    }
    for request in 1...2 { try await report(10, request: request, over: net) }
    #expect(await counter.visits.count == 20)
  }

  /// Runs a counter that crashes at some time. Returns what is on its disk in the end.
  private func countWithACrash(
    in time: VirtualTime, add: @escaping @Sendable (VisitCounter, Int, Int) async throws -> Void
  ) async throws -> Int {
    let net = SimulatedNetwork<VisitMessage>(
      in: time, nodes: ["counter", "web"], latency: .milliseconds(5) ... .milliseconds(50),
      loses: true, duplicates: true)
    let disk = SimulatedDisk(
      Visits(), of: "counter", in: net, latency: .milliseconds(60) ... .milliseconds(60))
    net.run(on: "counter") {
      let counter = VisitCounter(try disk.read(), store: disk)
      try await withThrowingDiscardingTaskGroup { group in
        for await message in net.inbox(of: "counter") {
          if group.isCancelled { break }
          guard case .add(let count, let request) = message.payload else { continue }
          group.addTask {
            try await add(counter, count, request)
            try await net.send(.added(request: request), from: "counter", to: message.sender)
          }
        }
      }
    }
    Task(name: "power failure") {
      try await Task.sleep(for: .milliseconds(time.choose([500, 60, 40])))
      net.crash("counter")
      try await Task.sleep(for: .milliseconds(50))
      net.restart("counter")
    }
    for request in 1...2 { try await report(10, request: request, over: net) }
    try await Task.sleep(for: .seconds(1))
    return try disk.read().count
  }

  @Test(.schedules(100, faults: 2)) func visitsSurviveACrash() async throws {
    let count = try await countWithACrash(in: VirtualTime.required) {
      try await $0.addSafely($1, request: $2)
    }
    #expect(count == 20)
  }

  @Test func aRepeatedRequestIsConfirmedTooEarly() async throws {
    // `nil` says that the search has found a failure.
    var summary: ScheduleSummary?
    try await withKnownIssue {
      summary = try await withSchedules(1_000, faults: 1) { time in
        let count = try await countWithACrash(in: time) { try await $0.add($1, request: $2) }
        guard count == 20 else { throw LostVisits(count: count) }
      }
    } matching: {
      $0.comments.contains { $0.rawValue.hasPrefix("the operation threw LostVisits: ") }
    }
    #expect(summary == nil)
  }

  @Test func aCrashMayTearAWrite() async throws {
    let found = Log<[String]>()
    try await withSchedules(100) { time in
      let net = SimulatedNetwork<VisitMessage>(
        in: time, nodes: ["counter"], latency: .zero ... .zero)
      let log = SimulatedDisk(
        [String](), of: "counter", in: net,
        torn: { _, new in [new.dropLast() + [String(new.last!.prefix(3))]] })
      try log.write(["visit 1"])
      try await log.sync()
      try log.write(["visit 1", "visit 2"])
      net.crash("counter")
      net.restart("counter")
      found.add(try log.read())
    }
    #expect(
      Set(found.all) == [["visit 1", "visit 2"], ["visit 1", "vis"], ["visit 1"]])
  }

  @Test func aSlowClockSleepsForLonger() async throws {
    let summary = try await withSchedules(100) { time in
      let clock = NodeClock(clock: time.clock, rate: time.choose([1, 0.5]))
      try await clock.sleep(for: .milliseconds(900))
      let isSlow = clock.rate < 1
      #expect(time.now == .milliseconds(isSlow ? 1_800 : 900))
      #expect(clock.now == .milliseconds(900))
    }
    #expect(summary?.isComplete == true)
  }

  @Test(.schedules(100)) func aProtocolReadsItsLines() async throws {
    let time = try VirtualTime.required
    let (client, server) = SimulatedConnection.pair(
      in: time, latency: .milliseconds(1) ... .milliseconds(20))
    try await client.write(Array("GET /a\n".utf8))
    try await client.write(Array("GET /b\nQUIT".utf8))
    client.finish()
    var lines: [String] = []
    var rest: [UInt8] = []
    for try await chunk in server.chunks {
      rest += chunk
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        lines.append(String(decoding: rest[..<end], as: UTF8.self))
        rest.removeSubrange(...end)
      }
    }
    #expect(lines == ["GET /a", "GET /b"])
    #expect(rest == Array("QUIT".utf8))
  }
}
