import Architecture
import ClocksTestKit
import Dependencies
import Testing
import VirtualClocks

/// A timer that takes its clock from its dependencies.
private struct Ticker: Reducer {
  struct State: Equatable { var ticks = 0 }
  enum Action: Equatable { case startTapped, tick }

  @Dependency(\.continuousClock) var clock

  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    switch action {
    case .startTapped:
      return .run { [clock] send in
        for _ in 1...3 {
          try await clock.sleep(for: .seconds(1))
          send(.tick)
        }
      }
    case .tick:
      state.ticks += 1
      return .none
    }
  }
}

/// Clocks of this package in a store, and in a model, that take their clock from their dependencies.
@MainActor
@Suite struct DependenciesTests {
  @Test func aTestClockIsTheClockOfAStore() async {
    let clock = VirtualClocks.TestClock()
    let store = TestStore(initialState: Ticker.State()) {
      Ticker()
    } withDependencies: {
      $0.continuousClock = clock
    }
    store.send(.startTapped)
    for tick in 1...3 {
      await clock.advance(by: .seconds(1))
      await store.receive(.tick) { $0.ticks = tick }
    }
    await store.finish()
  }

  @Test(.virtualTime) func withVirtualTimeNothingIsAdvanced() async throws {
    let store = TestStore(initialState: Ticker.State()) {
      Ticker()
    } withDependencies: {
      $0.continuousClock = ContinuousClock()
    }
    store.send(.startTapped)
    for tick in 1...3 { await store.receive(.tick) { $0.ticks = tick } }
    await store.finish()
    #expect(try VirtualTime.required.now == .seconds(3))
  }

  @Test func anImmediateClockDoesNotWait() async {
    let clock = VirtualClocks.ImmediateClock()
    let store = TestStore(initialState: Ticker.State()) {
      Ticker()
    } withDependencies: {
      $0.continuousClock = clock
    }
    store.send(.startTapped)
    for tick in 1...3 { await store.receive(.tick) { $0.ticks = tick } }
    await store.finish()
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func aModelTakesItsClockWhenItIsMade() async throws {
    struct Model: Sendable {
      @Dependency(\.continuousClock) var clock
    }
    let clock = VirtualClocks.TestClock()
    let model = withDependencies {
      $0.continuousClock = clock
    } operation: {
      Model()
    }
    let task = Task { try await model.clock.sleep(for: .seconds(5)) }
    await clock.advance(by: .seconds(5))
    try await task.value
  }
}
