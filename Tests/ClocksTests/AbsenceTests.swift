import Dispatch
import Foundation
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

/// The watchdog names tasks that are away and do not come back.
@Suite struct AbsenceTests {
  @Test func aTaskOnAnExecutorThatRunsNothing() async throws {
    let clock = TestClock()
    let waiting = Waiting()
    let ids = Log<UInt64>()
    Task {
      ids.add(TaskReference.currentID ?? 0)
      await waiting.wait()
    }
    let settled = Task { await clock.settle() }
    // A thread asks as the watchdog does; until it gives the task up, nobody gets on here.
    let absences = Log<Absence>()
    DispatchQueue.global().async {
      while absences.all.isEmpty {
        if let absence = clock.scheduler.newAbsence(after: .milliseconds(20)) {
          absences.add(absence)
        }
        usleep(1000)
      }
    }
    await settled.value
    let id = try #require(ids.all.first)
    #expect(absences.all.map(\.tasks) == [[id]])
    #expect(absences.all.first?.description(after: .seconds(30)).contains("#\(id)") == true)
    await clock.advance(by: .seconds(1))
    clock.scheduler.change { $0.checkInvariants() }
  }
}
