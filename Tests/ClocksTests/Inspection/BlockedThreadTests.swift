import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// Jobs that block their threads: the report names the function in which the thread is blocked.
@Suite(.disabled(if: isUnderAddressSanitizer), .enabled(if: areThreadsShown))
struct BlockedThreadTests {
  private static func report(of test: String) async throws -> String {
    let child = try await ChildProcess.runSwiftTesting(
      "BlockedThreads.*\(test)\\(",
      environment: ["CLOCKS_BLOCKED_AFTER": "0.2", ChildVariable.blockedThreads: "1"])
    #expect(child.exitCode == 1, "\(child)")
    return child.standardOutput + child.standardError
  }

  @Test func aSemaphoreThatIsNeverSignalled() async throws {
    let report = try await Self.report(of: "aSemaphore")
    #expect(
      report.contains("has held its thread for more than 0.2 seconds of real time"), "\(report)")
    #expect(report.contains(/task #\d+ "waiter" blocks its thread\n/), "\(report)")
    #expect(
      report.contains(/\s{4}Signal.wait\(\) at BlockedThreadTests.swift:\d+\n/), "\(report)")
  }

  @Test func anActorThatABlockedJobHolds() async throws {
    let report = try await Self.report(of: "anActor")
    #expect(report.contains(/task #\d+ "writer" blocks its thread\n/), "\(report)")
    #expect(
      report.contains(
        /task #\d+ "reader" waits for its turn on the actor Store, which task #\d+ "writer" holds\n/
      ),
      "\(report)")
    #expect(
      report.contains(/\s{4}Store.write\(_:\) at BlockedThreadTests.swift:\d+\n/), "\(report)")
  }

  @Test func twoThreadsThatTakeTwoLocks() async throws {
    let report = try await Self.report(of: "twoLocks")
    #expect(report.contains(/task #\d+ "left first" blocks its thread\n/), "\(report)")
    #expect(
      report.contains(/\s{4}Accounts.leftFirst\(\) at BlockedThreadTests.swift:\d+\n/), "\(report)")
  }
}

/// Blocks its thread until the scheduler has abandoned the job.
private struct Signal {
  let semaphore = DispatchSemaphore(value: 0)

  init(_ clock: TestClock<Duration>) { clock.scheduler.signalWhenAbandoned(semaphore) }

  func wait() { _ = semaphore.wait(timeout: .now() + 60) }
}

private actor Store {
  private var lines = 0

  func write(_ clock: TestClock<Duration>) -> Task<Int, Never> {
    // It inherits the actor, and so has to wait for its turn.
    let reader = Task(name: "reader") { lines }
    Signal(clock).wait()
    return reader
  }
}

private final class Accounts: Sendable {
  private let left = NSLock()
  private let right = NSLock()
  private let rightIsHeld = DispatchSemaphore(value: 0)

  func leftFirst() {
    left.lock()
    rightIsHeld.wait()
    if right.lock(before: Date() + 60) { right.unlock() }
    left.unlock()
  }

  /// - Parameter signal: Blocks while the lock is held for which `leftFirst` waits.
  func rightFirst(_ signal: Signal) {
    right.lock()
    rightIsHeld.signal()
    signal.wait()
    right.unlock()
  }
}

/// Tests that block their threads, and run only in the child processes of the tests above.
@Suite(.onlyInChild(ChildVariable.blockedThreads)) struct BlockedThreads {
  @Test func aSemaphore() async {
    let clock = TestClock()
    let waiter = Task(name: "waiter") { Signal(clock).wait() }
    let other = Task(name: "other") {}
    await clock.settle()
    await waiter.value
    await other.value
  }

  @Test func anActor() async {
    let clock = TestClock()
    let store = Store()
    let writer = Task(name: "writer") { await store.write(clock).value }
    let other = Task(name: "other") {}
    await clock.settle()
    _ = await writer.value
    await other.value
  }

  @Test func twoLocks() async {
    let clock = TestClock()
    let accounts = Accounts()
    let signal = Signal(clock)
    Thread { accounts.rightFirst(signal) }.start()
    let task = Task(name: "left first") { accounts.leftFirst() }
    let other = Task(name: "other") {}
    await clock.settle()
    await task.value
    await other.value
  }
}
