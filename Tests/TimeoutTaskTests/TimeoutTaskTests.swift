import Testing
import TimeoutTask

struct Smoke {
  @Test func resultInTime() async throws {
    let clock = ManualClock()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) { 5 }
    #expect(try await task.value == 5)
    #expect(clock.pendingSleeps == [])
    let a = TimeoutTask(seconds: 10) { "x" }
    #expect(try await a.value == "x")
    let b = TimeoutTask(timeout: .seconds(1)) { "x" }
    #expect(try await b.value == "x")
  }

  @Test func timeout() async throws {
    let clock = ManualClock()
    let task = TimeoutTask(timeout: .seconds(1), clock: clock) {
      try await clock.sleep(for: .seconds(20))
    }
    clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError(timeout: .seconds(1))) { try await task.value }
  }

  @Test func structured() async throws {
    let clock = ManualClock()
    let x = try await withTimeout(.seconds(1), clock: clock) { 5 }
    #expect(x == 5)
    #expect(clock.pendingSleeps == [])
    await #expect(throws: TimeoutError(timeout: .seconds(1))) {
      try await withTimeout(.seconds(1), clock: clock) {
        clock.advance(by: .seconds(1))
        try await clock.sleep(for: .seconds(1))
      }
    }
    #expect(try await withTimeout(.seconds(1)) { 5 } == 5)
    #expect(try await withDeadline(.now + .seconds(1)) { 5 } == 5)
    #expect(try await withDeadline(in: .seconds(1)) { 5 } == 5)
    #expect(try await withDeadline(in: .seconds(1), clock: .suspending) { 5 } == 5)
  }
}
