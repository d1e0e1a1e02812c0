import ClocksSearch
import Foundation
import Synchronization
import Testing

@testable import Clocks

private actor Ledger {
  private(set) var entries = 0
  func write() { entries += 1 }
}

/// Dumps that another thread takes repeatedly, while tasks start, sleep, wake, are cancelled and end.
@Suite struct DumpStressTests {
  /// Takes dumps on a thread until it is stopped, or has taken enough, because other tests need the
  /// processor, too.
  private final class Dumper: Sendable {
    private let isStopped = Atomic(false)
    private let count = Atomic(0)
    private let most = Atomic(0)
    private let end = DispatchSemaphore(value: 0)

    init(_ dump: @escaping @Sendable () -> TaskDump) {
      Thread { [self] in
        while !isStopped.load(ordering: .relaxed), !hasDumped(DumpStressTests.dumps) {
          let dump = dump()
          most.max(dump.entries.count, ordering: .relaxed)
          let (_, number) = count.add(1, ordering: .relaxed)
          if number == 1 { _ = dump.description }
          // Another thread rarely gets a lock that is released and immediately taken again.
          usleep(1_000)
        }
        end.signal()
      }.start()
    }

    /// The number of dumps, and of the tasks in the largest.
    func stop() -> (dumps: Int, tasks: Int) {
      isStopped.store(true, ordering: .relaxed)
      end.wait()
      return (count.load(ordering: .relaxed), most.load(ordering: .relaxed))
    }

    func hasDumped(_ number: Int) -> Bool { count.load(ordering: .relaxed) >= number }
  }

  /// The number of tasks; `CLOCKS_TESTS_DUMPED_TASKS` sets another one, for long runs.
  private static let tasks =
    ProcessInfo.processInfo.environment["CLOCKS_TESTS_DUMPED_TASKS"].flatMap(Int.init) ?? 1_000

  private static let dumps = tasks / 2

  @Test func onATestClock() async {
    let clock = TestClock()
    let ledger = Ledger()
    let dumper = Dumper { clock.scheduler.dumpTasks() }
    var random = Mixer(seed: 1)
    var (rounds, cancelled) = (0, 0)
    // On a busy machine, the thread of the dumps may begin late.
    while rounds < 10 || !dumper.hasDumped(1) {
      rounds += 1
      let tasks = (0..<Self.tasks / 10).map { number in
        Task(name: number % 7 == 0 ? "task \(number)" : nil) {
          try? await clock.sleep(for: .seconds(number % 5))
          await ledger.write()
          await withTaskGroup { group in
            for second in 0..<number % 4 {
              group.addTask { try? await clock.sleep(for: .seconds(second)) }
            }
          }
          async let last: Void? = try? clock.sleep(for: .seconds(1))
          _ = await last
        }
      }
      await clock.advance(by: .seconds(1))
      for task in tasks where Int.random(in: 0..<5, using: &random) == 0 {
        task.cancel()
        cancelled += 1
      }
      await clock.advance(by: .seconds(20))
      for task in tasks { await task.value }
    }
    #expect(await ledger.entries == rounds * (Self.tasks / 10))
    let (dumps, tasks) = dumper.stop()
    #expect(dumps > 0 && tasks > 0 && cancelled > 0)
  }

  @Test func inAScope() async throws {
    let ledger = Ledger()
    let (dumper, rounds) = try await withVirtualTime { time in
      let scheduler = time.scheduler
      let dumper = Dumper { scheduler.dumpTasks() }
      var rounds = 0
      // On a busy machine, the thread of the dumps may begin late.
      while rounds < 10 || !dumper.hasDumped(1) {
        rounds += 1
        let tasks = (0..<Self.tasks / 10).map { number in
          Task.detached {
            try? await Task.sleep(for: .milliseconds(number))
            await ledger.write()
            await Task.yield()
          }
        }
        try await Task.sleep(for: .milliseconds(Self.tasks / 25))
        for task in tasks.dropFirst(tasks.count / 2).prefix(tasks.count / 5) { task.cancel() }
        for task in tasks { await task.value }
      }
      return (dumper, rounds)
    }
    #expect(await ledger.entries == rounds * (Self.tasks / 10))
    let (dumps, tasks) = dumper.stop()
    #expect(dumps > 0 && tasks > 0)
  }

  /// Threads outside the scheduler resume tasks while they are read.
  @Test func whileThreadsResumeTasks() async {
    let clock = TestClock()
    let dumper = Dumper { clock.scheduler.dumpTasks() }
    var rounds = 0
    // On a busy machine, the thread of the dumps may begin late.
    while rounds < Self.tasks / 20 || !dumper.hasDumped(1) {
      rounds += 1
      await withTaskGroup { group in
        for number in 0..<20 {
          group.addTask {
            await withCheckedContinuation { continuation in
              DispatchQueue.global().async { continuation.resume() }
            }
            let other = Task { await clock.settle() }
            if number % 2 == 0 { other.cancel() }
            await other.value
          }
        }
      }
    }
    #expect(dumper.stop().dumps > 0)
  }
}
