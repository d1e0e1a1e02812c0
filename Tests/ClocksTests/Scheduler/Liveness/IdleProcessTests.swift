import ClocksSupport
import Foundation
import Testing

@testable import Clocks

/// When time may move by a step although blocks and external tasks are outstanding.
@Suite struct IdleProcessTests {
  private let scope = Scope(ScopeOptions())
  private var virtualClock: VirtualClock { scope.virtualClock }

  private func state() -> SchedulerState {
    let state = SchedulerState(scope: scope)
    state.beginBody()
    return state
  }

  private func sleep(until deadline: Duration) {
    _ = virtualClock.sleeps.add(
      .job(ReadyJob(of: 1)), until: deadline,
      details: .init(registered: .zero, clock: .continuous))
  }

  private func awaits(_ state: inout SchedulerState) -> Bool { state.awaitsThreadOfDispatch() }

  /// In real time, Dispatch starts a thread for it at the next full second.
  @Test func aBlockForWhichThereIsNoThreadHoldsTimeUntilTheNextFullSecond() {
    var state = state()
    let global = BlockQueue(label: "global", isConcurrent: true)
    let (first, second) = (
      state.dispatchedBlockBegan(on: global), state.dispatchedBlockBegan(on: global)
    )
    sleep(until: .milliseconds(1_500))
    #expect(awaits(&state) == true)
    sleep(until: .milliseconds(900))
    #expect(awaits(&state) == false)
    virtualClock.move(to: .milliseconds(600))
    #expect(awaits(&state) == false)
    _ = virtualClock.popEarliest(dueBy: nil, state.order)
    #expect(awaits(&state) == true, "the first second ends before the sleep")
    state.idleness.dispatchedBlocks.run(first, on: 1)
    #expect(awaits(&state) == true, "the second block is the first one since 0.9 s")
    sleep(until: .milliseconds(950))
    #expect(awaits(&state) == false)
    _ = virtualClock.popEarliest(dueBy: nil, state.order)
    #expect(awaits(&state) == true)
    sleep(until: .milliseconds(1_000))
    #expect(awaits(&state) == false)
    state.jobIsReady(ReadyJob(of: 2), isFromOutside: false)
    #expect(awaits(&state) == false, "the job that is ready may begin beside the blocks")
    state.letTimeMove()
    #expect(outstanding(state) == [2, 0])
    state.idleness.dispatchedBlocks.run(second, on: 2)
    #expect(awaits(&state) == false)
  }

  /// The threads of blocks that sleep do not run, and new ones begin.
  @Test func theLimitOfAHeldTestBeginsAgainWithEachBlock() throws {
    var state = state()
    func since() throws -> UInt64 { try #require(state.scope?.held).since.nanosecondsSince }
    var isPatient = state.isPatient(1)
    usleep(2_000)
    isPatient = isPatient && state.isPatient(1)
    #expect(try since() >= 2_000_000)
    _ = state.dispatchedBlockBegan(on: BlockQueue(label: "queue"))
    let begin = RealTime(in: .zero)
    isPatient = isPatient && state.isPatient(1)
    let time = try since()
    #expect(time <= begin.nanosecondsSince)
    #expect(isPatient)
  }

  /// The numbers of blocks and of external tasks that keep time from moving.
  private func outstanding(_ state: borrowing SchedulerState) -> [Int] {
    [state.idleness.dispatchedBlocks.count, state.idleness.externalTasks.areOutstanding ? 1 : 0]
  }

  @Test func aStepLeavesOutParallelWorkOnce() {
    var state = state()
    let task = RetainedTask.any()
    let block = state.dispatchedBlockBegan(on: BlockQueue(label: "queue"))
    _ = state.idleness.externalTasks.externalJobBegan(task)
    for deadline in 1...2 { sleep(until: .seconds(deadline)) }
    #expect(outstanding(state) == [1, 1])
    state.letTimeMove()
    #expect(outstanding(state) == [0, 0])
    _ = state.jump()
    #expect(outstanding(state) == [1, 1])
    state.dispatchedBlockEnded(block)
    state.idleness.externalTasks.checkInvariants()
  }

  /// A wait may be served in the step in place of a jump.
  @Test(arguments: [false, true]) func aServedWaitEndsTheStep(movesTime: Bool) {
    var state = state()
    let block = state.dispatchedBlockBegan(on: BlockQueue(label: "queue"))
    sleep(until: .seconds(1))
    let waiter =
      movesTime
      ? Advance(virtualClock, isOwn: true, .duration(.seconds(1))) : IdleWaiter(isOwn: true)
    waiter.continuation = unsafeBitCast(8, to: UnsafeContinuation<Void, Never>.self)
    state.append(waiter)
    state.letTimeMove()
    #expect(outstanding(state) == [0, 0])
    #expect(state.idleness.externalTasks.areLeftOut == true)
    let action = state.next(on: .pool, mayStay: true)
    switch action {
    case .finish: #expect(!movesTime)
    case .run, .runWaking: #expect(movesTime)
    default: Issue.record("\(action)")
    }
    #expect(outstanding(state) == [1, 0])
    #expect(state.idleness.externalTasks.areLeftOut == false)
    state.dispatchedBlockEnded(block)
    state.idleness.externalTasks.checkInvariants()
  }

  /// The job of a task on a custom executor sleeps.
  @Test func aTaskWhoseJobIsPausedIsNotOutstanding() {
    let task = RetainedTask.any()
    var external = ExternalTasks()
    external.setPaused(true, task.id)
    _ = external.externalJobBegan(task)
    #expect(external.areOutstanding == true)
    external.setPaused(true, task.id)
    #expect(external.areOutstanding == false)
    external.checkInvariants()
    external.setPaused(false, task.id)
    #expect(external.areOutstanding == true)
    _ = external.externalJobEnded(task.id)
    #expect(external.areOutstanding == false)
    external.checkInvariants()
  }
}
