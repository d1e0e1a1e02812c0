import ClocksSearch
import ClocksSupport
import Dispatch
import Foundation
import Synchronization
import TestTraits
import Testing

@testable import Clocks

private actor Box {
  var value = 0
  func add(_ number: Int) { value += number }
}

/// Hashes by address.
private final class Node: Hashable, Sendable {
  let number: Int
  init(_ number: Int) { self.number = number }
  static func == (lhs: Node, rhs: Node) -> Bool { lhs === rhs }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Runs `count` tasks, one after the other.
private func tasks(_ count: Int) async {
  for _ in 0..<count { await Task {}.value }
}

/// Causes of nondeterminism: the search names each at the first step that differs.
@Suite(.serialized) struct DivergenceTests {
  /// Repeats the first two runs of a search until they differ: some causes show by chance only.
  ///
  /// Throws if a run fails, because two runs of a failing operation are not compared.
  private func divergence(
    tries: Int = 100, _ operation: @escaping @Sendable (VirtualTime) async throws -> Void
  ) async throws -> Divergence? {
    var options = ScopeOptions()
    options.isExplored = true
    Hashing.ignoreAddresses()
    NondeterminismHooks.redirect()
    for _ in 0..<tries {
      let exploration = Exploration(
        limits: .init(count: 2, seed: 1), time: nil, options: options, origin: CallSite(),
        gate: IssueGate())
      switch await exploration(operation) {
      case .diverged(let divergence): return divergence
      case .passed(let summary): try #require(summary.schedules == 2)
      case .failed(let failure): throw FailedRun(description: failure.finding.text)
      case .skipped(let error): throw error
      }
    }
    return nil
  }

  private struct FailedRun: Error, CustomStringConvertible {
    var description: String
  }

  // MARK: - None

  /// An inner scope runs on another thread: it begins after the current task is suspended.
  @Test func anInnerScopeIsDeterministic() async throws {
    let found = try await divergence(tries: 2_000) { _ in
      let box = Box()
      try await withVirtualTime { _ in await box.add(1) }
      try await withVirtualTime { _ in
        try await Task.sleep(for: .seconds(1))
        try await withVirtualTime { _ in await box.add(1) }
      }
      #expect(await box.value == 2)
    }
    #expect(found == nil, "\(found?.description ?? "")")
  }

  // MARK: - From outside

  private static let starts = Atomic(0)

  /// Waits for external work whose duration differs from run to run, on a busy machine, too, and expects to find it.
  private func expectOutside(
    at location: SourceLocation = #_sourceLocation,
    _ start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) async throws {
    let found = try await divergence { time in
      let box = Box()
      await withTaskGroup { group in
        for _ in 0..<2 {
          group.addTask {
            await time.holding {
              await withCheckedContinuation { continuation in
                let number = Self.starts.add(1, ordering: .relaxed).newValue
                start {
                  // Of two tasks, the second one is slow in one run, and the first one in the next.
                  if [2, 3].contains(number % 4) { usleep(2_000) }
                  continuation.resume()
                }
              }
            }
            await box.add(1)
          }
        }
        group.addTask { for _ in 0..<20 { await box.add(1) } }
      }
    }
    let divergence = try #require(found, sourceLocation: location)
    guard case .outside = divergence.suspect else {
      Issue.record("\(divergence.description)", sourceLocation: location)
      return
    }
    #expect(divergence.place.contains(/^(decision|step) \d+$/), sourceLocation: location)
  }

  @Test func aQueue() async throws {
    try await expectOutside { DispatchQueue.global().async(execute: $0) }
  }

  @Test func aThread() async throws {
    try await expectOutside { Thread(block: $0).start() }
  }

  @Test func aDispatchTimer() async throws {
    try await expectOutside { work in
      let wait = DispatchTimeInterval.microseconds(
        Int(DispatchTime.now().uptimeNanoseconds % 5 * 100))
      DispatchQueue.global().asyncAfter(deadline: .now() + wait, execute: work)
    }
  }

  // MARK: - State of an earlier run

  private static let isWarm = Atomic(false)

  @Test func aStaticFlag() async throws {
    Self.isWarm.store(false, ordering: .relaxed)
    let found = try #require(
      try await divergence { _ in
        if !Self.isWarm.exchange(true, ordering: .relaxed) { await tasks(1) }
        await tasks(1)
      })
    #expect(found.suspect == .earlierRun)
    #expect(found.place == "step 4")
    #expect(
      found.description.hasPrefix(
        "differ at step 4: the first run continued with b.1, the second continued with "),
      "\(found.description)")
  }

  private actor Shared {
    static let cache = Shared()
    private var isFull = false
    func reset() { isFull = false }
    func fill() -> Bool {
      defer { isFull = true }
      return !isFull
    }
  }

  @Test func aSharedCache() async throws {
    await Shared.cache.reset()
    let found = try #require(
      try await divergence { _ in
        if await Shared.cache.fill() { await tasks(2) }
        await tasks(1)
      })
    #expect(found.suspect == .earlierRun)
  }

  @Test func aFile() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "orders-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let found = try #require(
      try await divergence { _ in
        if !FileManager.default.fileExists(atPath: file.path) {
          try Data().write(to: file)
          await tasks(1)
        }
        await tasks(1)
      })
    #expect(found.suspect == .earlierRun)
  }

  // MARK: - Randomness

  @Test func randOfTheCLibrary() async throws {
    let found = try #require(try await divergence { _ in await tasks(Int(rand() % 5)) })
    #expect(found.suspect == .randomness)
  }

  @Test func randomOfTheCLibrary() async throws {
    let found = try #require(try await divergence { _ in await tasks(random() % 5) })
    #expect(found.suspect == .randomness)
  }

  @Test func drand48OfTheCLibrary() async throws {
    let found = try #require(
      try await divergence { _ in
        srand48(Int(rand()))
        await tasks(Int(drand48() * 5))
      })
    #expect(found.suspect == .randomness)
  }

  // MARK: - Real time

  /// Virtual, like the date.
  @Test func theUptimeIsEqualInEachRun() async throws {
    let found = try await divergence { _ in
      await tasks(Int(ProcessInfo.processInfo.systemUptime * 1_000_000) % 5)
    }
    #expect(found == nil)
  }

  @Test(.disabled(if: hasSanitizer)) func aSystemClock() async throws {
    let found = try #require(
      try await divergence { _ in
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        await tasks(now.tv_nsec / 1_000 % 5)
      })
    #expect(found.suspect == .realTime)
  }

  /// This package reads the real time on behalf of the test. The difference has another cause, which is not seen.
  @Test func theReadingsOfThisPackageAreNotSuspected() async throws {
    let found = try #require(
      try await divergence { _ in
        #expect(RealTime(in: .zero).hasPassed)
        await tasks(Self.starts.add(1, ordering: .relaxed).newValue % 5)
      })
    #expect(found.suspect == .addresses)
  }

  // MARK: - Addresses

  @Test func aSetOfObjects() async throws {
    let found = try #require(
      try await divergence { _ in
        let nodes = Set((1...6).map(Node.init))
        for node in nodes { await tasks(node.number) }
        for node in nodes { Task { await tasks(node.number) } }
      })
    #expect(found.suspect == .addresses)
  }

  // MARK: - Made deterministic

  @Test func randomNumbersAndHashesAreEqualInAllRuns() async throws {
    let found = try await divergence { _ in
      await tasks(Int.random(in: 0..<5))
      await tasks([1, 2, 3, 4].shuffled()[0])
      var names = Set((0..<7).map { "name \($0)" })
      names.insert(UUID().uuidString)
      for name in names { await tasks(name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 3 }) }
      await tasks(Int(Date().timeIntervalSince1970) % 5)
    }
    #expect(found == nil, "\(found?.description ?? "")")
  }
}
