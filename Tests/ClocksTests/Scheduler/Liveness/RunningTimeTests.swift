import Testing

@testable import Clocks

/// How long a test has run, as the watchdog's checks see it.
@Suite struct RunningTimeTests {
  private static func scope(
    isUnedited: Bool = false, unlimitedHolds: Int = 0
  ) -> SchedulerState {
    var options = ScopeOptions()
    if isUnedited { options.goesOnWithout = { _ in } }
    let state = SchedulerState(scope: Scope(options))
    state.scope?.pace.holds = unlimitedHolds
    state.scope?.pace.unlimitedHolds = unlimitedHolds
    return state
  }

  @Test func aTestThatWaitsForAThreadRunsOnlyIfSomethingHasChanged() {
    var state = Self.scope()
    state.idleness.thread = .requested(on: .pool)
    #expect(state.hasRun() == false)
    state.activity.jobBegins(of: 1)
    #expect(state.hasRun() == true)
    #expect(state.hasRun() == false)
    state.idleness.thread = .acting
    #expect(state.hasRun() == true)
    #expect(state.hasRun() == true)
    state.idleness.thread = .none
    #expect(state.hasRun() == false)
  }

  /// Returns whether a test has run after `change`, while no thread ran its jobs.
  private func hasRun(
    _ make: () -> SchedulerState, after change: (inout SchedulerState) -> Void
  ) -> Bool {
    var state = make()
    #expect(state.hasRun() == false)
    change(&state)
    return state.hasRun()
  }

  @Test func aTestRunsIfTheWorkThatItAwaitsMakesProgress() {
    let blockBegins = { (state: inout SchedulerState) in
      _ = state.dispatchedBlockBegan(on: BlockQueue(label: "orders"))
    }
    #expect(hasRun({ Self.scope() }, after: blockBegins))
    #expect(hasRun({ Self.scope() }, after: { $0.activity.jobBegins(of: 1) }))
    #expect(!hasRun({ Self.scope(isUnedited: true) }, after: blockBegins))
    #expect(!hasRun({ Self.scope(unlimitedHolds: 1) }, after: blockBegins))
    #expect(!hasRun({ SchedulerState() }, after: blockBegins))
    let waiting = {
      var state = SchedulerState()
      state.append(IdleWaiter(isOwn: true))
      return state
    }
    #expect(hasRun(waiting, after: blockBegins))
  }

  @Test func anAbandonedTestDoesNotRun() {
    var state = Self.scope()
    state.idleness.thread = .acting
    #expect(state.hasRun() == true)
    state.isAbandoned = true
    #expect(state.hasRun() == false)
  }

  @Test func testsThatRunSideBySideShareTheProcessors() {
    func time(ofEachOf tests: Int, run: UInt64, withheld: UInt64 = 0) -> Duration {
      let second: UInt64 = 1_000_000_000
      let interval = MachineLoad.Interval(
        planned: second - withheld, real: second, run: run * second, waits: [],
        hasServedBlock: true)
      return interval.runningTime(ofEachOf: tests)
    }
    #expect(time(ofEachOf: 1, run: 0) == .seconds(1))
    #expect(time(ofEachOf: 1, run: 4) == .seconds(1))
    #expect(time(ofEachOf: 4, run: 0) == .seconds(0.25))
    #expect(time(ofEachOf: 4, run: 2) == .seconds(0.5))
    #expect(time(ofEachOf: 4, run: 8) == .seconds(1))
    #expect(time(ofEachOf: 4, run: 2, withheld: 500_000_000) == .seconds(0.25))
  }
}
