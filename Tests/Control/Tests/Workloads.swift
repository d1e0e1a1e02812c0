import Dispatch
import Foundation
import Testing

// Each suite is one workload, whose parallel cases Scripts/control runs in a process of their own.
// Most of them block threads: how long they take depends on how many threads there are.

/// A counter behind a serial queue, as libraries have that are older than actors.
private final class Counter: @unchecked Sendable {
  private let queue = DispatchQueue(label: "counter", target: .global())
  private var value = 0

  func increment() { queue.async { self.value += 1 } }
  func read() -> Int { queue.sync { value } }
}

@Suite struct SerialQueues {
  @Test(arguments: 1...16) func blockUntilTheirBlocksHaveRun(_ number: Int) async {
    let counter = Counter()
    for _ in 0..<20 {
      counter.increment()
      _ = counter.read()
      await Task.yield()
    }
    #expect(counter.read() == 20)
  }
}

@Suite struct Semaphores {
  @Test(arguments: 1...32) func areSignalledOnAGlobalQueue(_ number: Int) async {
    func waitFive() {
      let semaphore = DispatchSemaphore(value: 0)
      for _ in 0..<5 {
        DispatchQueue.global().async { semaphore.signal() }
        semaphore.wait()
      }
    }
    waitFive()
    await Task.yield()
    waitFive()
  }
}

@Suite struct Groups {
  @Test(arguments: 1...32) func areWaitedFor(_ number: Int) async {
    func waitForGroup() {
      let group = DispatchGroup()
      for _ in 0..<4 { DispatchQueue.global().async(group: group) {} }
      group.wait()
    }
    waitForGroup()
    await Task.yield()
    waitForGroup()
  }
}

/// Blocks that do nothing, so that the time is what noting them costs.
@Suite struct ShortBlocks {
  @Test(arguments: 1...20) func run(_ number: Int) async {
    let queue = DispatchQueue(label: "short blocks")
    for _ in 0..<2_500 { queue.async {} }
    await withUnsafeContinuation { continuation in queue.async { continuation.resume() } }
  }
}

@Suite struct ConcurrentLoops {
  @Test(arguments: 1...50) func runOnTheThreadsThatAreFree(_ number: Int) async {
    func sum() -> Int {
      nonisolated(unsafe) let parts = UnsafeMutablePointer<Int>.allocate(capacity: 64)
      defer { parts.deallocate() }
      DispatchQueue.concurrentPerform(iterations: 64) { part in
        parts[part] = (0..<500).reduce(0, &+)
      }
      return (0..<64).reduce(0) { $0 + parts[$1] }
    }
    #expect(sum() == 64 * 124_750)
    await Task.yield()
    #expect(sum() == 64 * 124_750)
  }
}

@Suite struct OperationQueues {
  @Test(arguments: 1...16) func areWaitedFor(_ number: Int) async {
    func runOperations() {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 2
      queue.addOperations((0..<4).map { _ in BlockOperation {} }, waitUntilFinished: true)
    }
    runOperations()
    await Task.yield()
    runOperations()
  }
}

private actor Account {
  private(set) var balance = 0
  func deposit() { balance += 1 }
}

@Suite struct ShortTests {
  @Test(arguments: 1...1_000) func callAnActor(_ number: Int) async {
    let account = Account()
    await withTaskGroup { group in
      for _ in 0..<4 { group.addTask { await account.deposit() } }
    }
    await Task.yield()
    #expect(await account.balance == 4)
  }
}

@Suite struct ManyTasks {
  @Test(arguments: 1...20) func yield(_ number: Int) async {
    await withTaskGroup { group in
      for _ in 0..<2_500 { group.addTask { await Task.yield() } }
    }
  }
}

@Suite struct BlockedPool {
  private func block() { Thread.sleep(forTimeInterval: 0.05) }

  /// More cases than there are threads in the cooperative pool, so every one of these is blocked.
  @Test(arguments: 0..<(8 * ProcessInfo.processInfo.processorCount))
  func blocksEveryThread(_ number: Int) async {
    block()
    await Task.yield()
    block()
  }
}

@Suite struct Sleeps {
  @Test(arguments: 1...100) func takeRealTime(_ number: Int) async throws {
    for _ in 0..<10 { try await Task.sleep(for: .milliseconds(10)) }
  }
}

@Suite struct MainActorHops {
  @Test(arguments: 1...100) func alternate(_ number: Int) async {
    for _ in 0..<50 {
      await MainActor.run { MainActor.preconditionIsolated() }
      await Task.yield()
    }
  }
}

/// Like `MainActorHops`. In the bundle that is linked with the package, each case has a scope of virtual time.
@Suite struct MainActorHopsInScopes {
  @Test(inScope, arguments: 1...100) func alternate(_ number: Int) async {
    for _ in 0..<50 {
      await MainActor.run { MainActor.preconditionIsolated() }
      await Task.yield()
    }
  }
}
