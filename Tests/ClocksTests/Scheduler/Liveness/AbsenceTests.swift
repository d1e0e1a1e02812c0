import ClocksSupport
import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Clocks

/// An executor that runs nothing.
private final class Idle: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {}
}

private actor Waiting {
  private let executor = Idle()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  func wait() {}
}

/// The watchdog names external work that does not come back.
@Suite struct AbsenceTests {
  /// Starts a thread that asks for an absence, as the watchdog does, and abandons the external work.
  ///
  /// The scheduler does not wait for the thread. After a minute without an absence, only the work is abandoned.
  private func absences(of clock: TestClock<Duration>) -> Log<Absence> {
    let absences = Log<Absence>()
    onAThread {
      let limit = RealTime(in: .seconds(60))
      while absences.all.isEmpty, !limit.hasPassed {
        if let absence = clock.scheduler.newAbsence(after: .milliseconds(20)) {
          absences.add(absence)
        } else {
          usleep(1000)
        }
      }
      clock.scheduler.continueAfterAbsence()
    }
    return absences
  }

  @Test func aTaskOnAnExecutorThatRunsNothing() async throws {
    let clock = TestClock()
    let waiting = Waiting()
    let ids = Log<UInt64>()
    Task {
      ids.add(UnownedTask.currentID ?? 0)
      await waiting.wait()
    }
    let settled = Task { await clock.settle() }
    let absences = absences(of: clock)
    await settled.value
    let id = try #require(ids.all.first)
    #expect(absences.all.map(\.tasks) == [[id]])
    #expect(absences.all.allSatisfy { $0.nanoseconds >= 20_000_000 })
    #expect(absences.all.first?.description(after: .seconds(30)).contains("#\(id)") == true)
    await clock.advance(by: .seconds(1))
    clock.scheduler.change { $0.checkInvariants() }
  }

  /// A report names the queue of blocks that do not run.
  @Test func workOnAHeldQueue() async throws {
    let clock = TestClock()
    let queue = DispatchQueue(label: "held")
    let held = HeldQueue(queue)
    let runs = Log<Int>()
    queue.async { runs.add(1) }
    let settled = Task { await clock.settle() }
    let absences = absences(of: clock)
    await settled.value
    #expect(absences.all.map(\.tasks) == [[]])
    #expect(absences.all.map(\.queues) == [["held"]])
    #expect(absences.all.first?.description(after: .seconds(30)).contains("\"held\"") == true)
    #expect(runs.all == [])
    // The end of abandoned work changes nothing. The scheduler still waits for other work.
    held.release()
    queue.async { runs.add(2) }
    await clock.advance(by: .seconds(1))
    #expect(runs.all == [1, 2])
    clock.scheduler.change {
      #expect($0.idleness.externalTasks.areOutstanding == false)
      #expect($0.idleness.dispatchedBlocks.count == 0)
      #expect($0.idleness.unreportedAbsences == 0)
      $0.checkInvariants()
    }
  }

  /// Work for which no task waits is not reported, however long it takes.
  @Test func workForWhichNoTaskWaits() async throws {
    let clock = TestClock()
    let queue = DispatchQueue(label: "held")
    let held = HeldQueue(queue)
    queue.async {}
    for _ in 0..<5 { #expect(clock.scheduler.newAbsence(after: .zero)?.queues == nil) }
    held.release()
    await clock.settle()
  }
}
