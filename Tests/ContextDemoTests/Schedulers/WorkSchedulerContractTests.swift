import Dispatch
import Testing

@testable import ContextDemo

/// Tests that the schedulers of every factory satisfy the contract of ``WorkScheduler``.
///
/// Isolated to the main actor: a synchronous scheduler runs work on the queue of the caller.
@MainActor @Suite struct WorkSchedulerContractTests {
  nonisolated static let factories: [any WorkSchedulerFactory] = [
    DispatchSchedulers(), SynchronousSchedulers(),
  ]

  enum Kind: CaseIterable, Sendable { case serial, concurrent, main }

  private func make(_ kind: Kind, from factory: any WorkSchedulerFactory) -> any WorkScheduler {
    switch kind {
    case .serial: factory.serial(named: "serial")
    case .concurrent: factory.concurrent(named: "concurrent")
    case .main: factory.main
    }
  }

  @Test(arguments: factories, Kind.allCases)
  func workRunsOnce(_ factory: any WorkSchedulerFactory, _ kind: Kind) async {
    let scheduler = make(kind, from: factory)
    let (runs, continuation) = AsyncStream<Int>.makeStream()
    for number in 0..<100 { scheduler.schedule { continuation.yield(number) } }
    var numbers = await runs.first(100)
    if kind == .concurrent { numbers.sort() }
    #expect(numbers == Array(0..<100))
  }

  @Test(arguments: factories, [Kind.serial, .main])
  func submittedWorkStartsAfterTheRunningWork(
    _ factory: any WorkSchedulerFactory, _ kind: Kind
  ) async {
    let scheduler = make(kind, from: factory)
    let (events, continuation) = AsyncStream<String>.makeStream()
    scheduler.schedule {
      continuation.yield("outer begins")
      scheduler.schedule { continuation.yield("inner") }
      continuation.yield("outer ends")
    }
    let order = await events.first(3)
    #expect(order == ["outer begins", "outer ends", "inner"])
  }

  @Test(arguments: factories)
  func serialSchedulerRunsOnePieceAtATime(_ factory: any WorkSchedulerFactory) async {
    /// Protected by the serial scheduler only.
    final class Tally: @unchecked Sendable { var count = 0 }
    let (serial, tally) = (factory.serial(named: "serial"), Tally())
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 { serial.schedule { tally.count += 1 } }
        }
      }
    }
    let count = await withCheckedContinuation { continuation in
      serial.schedule { continuation.resume(returning: tally.count) }
    }
    #expect(count == 4000)
  }

  @Test(arguments: factories)
  func mainSchedulerUsesTheMainQueue(_ factory: any WorkSchedulerFactory) async {
    // The main queue is not the same as the main thread: on Linux, other threads also serve the main queue.
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    let isMain = await withCheckedContinuation { continuation in
      factory.main.schedule {
        continuation.resume(returning: DispatchQueue.getSpecific(key: key) != nil)
      }
    }
    #expect(isMain)
  }
}
