import ClocksSearch
import Testing

@testable import Clocks

/// A task that was suspended before time jumped, and that something outside makes ready.
@Suite struct SkippedExternalWaitStateTests {
  var work = SkippedExternalWait()

  @Test mutating func aTaskThatRanBeforeTheJumpHasSleptThroughIt() {
    work.jobBegins(of: 1, at: .zero)
    work.timeJumps(to: .seconds(1))
    work.jobBegins(of: 2, at: .seconds(1))
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 1) == .init(start: .zero, end: .seconds(30)))
    #expect(work.jump(over: 2) == .init(start: .seconds(1), end: .seconds(30)))
    #expect(work.jump(over: 2)?.length == .seconds(29))
  }

  @Test mutating func aTaskThatRanAfterTheJumpHasNotSleptThroughIt() {
    work.jobBegins(of: 1, at: .zero)
    work.timeJumps(to: .seconds(30))
    work.jobBegins(of: 1, at: .seconds(30))
    #expect(work.jump(over: 1) == nil)
  }

  @Test mutating func anUnknownTaskOrNoJumpGivesNoResult() {
    work.jobBegins(of: 1, at: .zero)
    #expect(work.jump(over: 1) == nil)
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 2) == nil)
  }

  /// A slot that no task uses has the number of a drain.
  @Test mutating func anActorDrainHasNotSleptThroughTheJump() {
    work.timeJumps(to: .seconds(30))
    work.arrives(0, name: nil)
    work.wasCancelled(0, name: nil)
    #expect(work.jump(over: 0) == nil)
    #expect(work.first == nil && work.cancelled.isEmpty)
  }

  /// The drain may have run any of the tasks.
  @Test mutating func anActorDrainAfterTheJumpLeavesItUncertain() {
    work.jobBegins(of: 1, at: .zero)
    work.jobBegins(of: 0, at: .zero)
    work.timeJumps(to: .seconds(30))
    #expect(work.jump(over: 1) != nil)
    work.jobBegins(of: 0, at: .seconds(30))
    #expect(work.jump(over: 1) == nil)
    work.timeJumps(to: .seconds(31))
    #expect(work.jump(over: 1)?.length == .seconds(31))
  }

  @Test mutating func theFirstIsKept() {
    work.jobBegins(of: 1, at: .zero)
    work.arrives(1, name: "too early")
    #expect(work.first == nil)
    work.timeJumps(to: .seconds(30))
    work.arrives(2, name: "a stranger")
    #expect(work.first == nil)
    work.arrives(1, name: "fetch")
    work.jobBegins(of: 1, at: .seconds(30))
    work.timeJumps(to: .seconds(40))
    work.arrives(1, name: "later")
    let jump = SkippedExternalWait.Jump(start: .zero, end: .seconds(30))
    #expect(work.first == .init(task: 1, name: "fetch", jump: jump))
  }

  @Test mutating func aForgottenTaskIsUnknown() {
    work.jobBegins(of: 1, at: .zero)
    work.jobBegins(of: 2, at: .zero)
    work.timeJumps(to: .seconds(30))
    work.forget(1)
    work.forget(258)
    #expect(work.jump(over: 1) == nil)
    #expect(work.jump(over: 2) != nil)
  }

  /// There are 256 slots, and a task can take one of four.
  @Test mutating func tasksThatShareASlotAreFound() {
    let tasks = (0..<4).map { UInt64(7 + 256 * $0) }
    for task in tasks { work.jobBegins(of: task, at: .seconds(Int(task))) }
    work.timeJumps(to: .seconds(5_000))
    #expect(tasks.allSatisfy { work.jump(over: $0)?.start == .seconds(Int($0)) })
    // A fifth one takes the slot of the task that has not run for the longest time.
    work.jobBegins(of: tasks[0], at: .seconds(5_000))
    work.timeJumps(to: .seconds(6_000))
    work.jobBegins(of: 7 + 256 * 4, at: .seconds(6_000))
    work.timeJumps(to: .seconds(7_000))
    #expect(work.jump(over: tasks[0])?.start == .seconds(5_000))
    #expect(work.jump(over: tasks[1]) == nil)
    #expect(tasks[2...].allSatisfy { work.jump(over: $0)?.start == .seconds(Int($0)) })
    #expect(work.jump(over: 7 + 256 * 4)?.start == .seconds(6_000))
  }

  /// A task that is found has run last at the time that is found.
  @Test(arguments: 0..<20) mutating func aTaskIsFoundByItsLastRunOrNotAtAll(_ seed: UInt64) {
    var random = Mixer(seed: seed)
    var lastRuns: [UInt64: Duration] = [:]
    for second in 1...2_000 {
      let task = UInt64.random(in: 1...3, using: &random) + 256 * .random(in: 0...5, using: &random)
      if Int.random(in: 0..<5, using: &random) == 0 {
        work.forget(task)
        lastRuns[task] = nil
      } else {
        work.jobBegins(of: task, at: .seconds(second))
        lastRuns[task] = .seconds(second)
      }
      work.timeJumps(to: .seconds(second + 1))
      for task in (1...3).flatMap({ task in (0...5).map { UInt64(task + 256 * $0) } }) {
        guard let jump = work.jump(over: task) else { continue }
        #expect(jump.start == lastRuns[task])
      }
      // A task that has just run is found.
      if let last = lastRuns[task] { #expect(work.jump(over: task)?.start == last) }
    }
  }
}
