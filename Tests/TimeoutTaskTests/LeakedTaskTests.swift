import Clocks
import Testing
import TimeoutTask

/// Work that ignores the timeout continues, and a dump shows where it waits.
@Suite struct LeakedTaskTests {
  private struct Download {
    func awaitAnswer() async {
      await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
  }

  @Test func aDumpShowsWhereTheWorkWaits() async throws {
    let clock = TestClock()
    let task = TimeoutTask(timeout: .seconds(5), clock: clock) { await Download().awaitAnswer() }
    await clock.advance(by: .seconds(4))
    #expect(clock.dump().contains("sleeps until 5.0 seconds on TestClock"))
    await clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError.self) { try await task.value }
    let dump = clock.dump()
    #expect(!dump.contains("sleeps"), "\(dump)")
    #expect(
      dump.contains(
        /awaits a continuation\n +LeakedTaskTests.Download.awaitAnswer\(\) at LeakedTaskTests.swift:\d+\n/
      ),
      "\(dump)")
    #expect(dump.contains("in LeakedTaskTests.aDumpShowsWhereTheWorkWaits() at "), "\(dump)")
  }
}
