import Dispatch
import TestTraits
import Testing

@testable import Clocks

/// The test around a scope is not idle while the scope can continue by itself.
@Suite struct BusyScopeTests {
  @Test(arguments: 0..<20) func anOuterAdvanceWaitsForAnInnerScope(_: Int) async throws {
    try await withVirtualTime { outer in
      let inner = Task {
        try await withVirtualTime { _ in
          for _ in 0..<3 { try await Task.sleep(for: .seconds(1)) }
          await withCheckedContinuation { continuation in
            DispatchQueue(label: "inner").asyncAfter(deadline: .now() + 1) { continuation.resume() }
          }
        }
        try await Task.sleep(for: .seconds(1))
        return outer.now
      }
      await outer.advance(by: .seconds(10))
      #expect(outer.now.offset == .seconds(10))
      let end = try await inner.value
      #expect(end.offset == .seconds(1))
    }
  }

  @Test(arguments: 0..<20) func anAdvanceOfATestClockWaitsForAScope(_: Int) async throws {
    let clock = TestClock()
    let task = Task {
      var instants: [Duration] = []
      for _ in 0..<3 {
        try await withVirtualTime { for _ in 0..<20 { try await Task.sleep(for: .seconds(1)) } }
        try await clock.sleep(for: .seconds(1))
        instants.append(clock.now.offset)
      }
      return instants
    }
    await clock.advance(by: .seconds(3))
    #expect(clock.pendingSleeps.isEmpty)
    #expect(try await task.value == [.seconds(1), .seconds(2), .seconds(3)])
  }

  @Test func aScopeThatWaitsForTheClockOfItsTestIsIdle() async throws {
    let clock = TestClock()
    let tasks = (0..<4).map { _ in
      Task {
        try await withVirtualTime {
          for _ in 0..<5 {
            try await Task.sleep(for: .seconds(1))
            try await clock.sleep(for: .seconds(1))
          }
        }
        return clock.now.offset
      }
    }
    await clock.advance(by: .seconds(5))
    for task in tasks { #expect(try await task.value == .seconds(5)) }
  }

  @Test func theOrderInWhichTwoChangesComeDoesNotMatter() {
    let (first, second) = (Scheduler(origin: .here()), Scheduler(origin: .here()))
    var scopes = BusyScopes()
    #expect(!scopes.areAny)
    scopes.note(first, 1)
    scopes.note(second, -1)
    #expect(scopes.areAny)
    scopes.note(first, -1)
    #expect(scopes.areAny)
    scopes.note(second, 1)
    #expect(!scopes.areAny)
  }
}
