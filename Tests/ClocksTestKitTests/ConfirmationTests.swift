import Clocks
import ClocksTestKit
import Testing

/// Confirmations that wait in virtual time, compared with those of Swift Testing.
@Suite(.virtualTime) struct ConfirmationTests {
  private let time = VirtualTime.current!

  /// Calls back once a second.
  private func call(_ callback: @escaping @Sendable () -> Void, times: Int) {
    Task {
      for _ in 0..<times {
        try await Task.sleep(for: .seconds(1))
        callback()
      }
    }
  }

  @Test func waitsWhenTheBodyHasReturned() async {
    await confirmation(expectedCount: 3, within: .seconds(10)) { confirm in
      call({ confirm() }, times: 3)
    }
    #expect(time.now.offset == .seconds(10))
  }

  @Test func swiftTestingsOwnMustBeConfirmedByThen() async throws {
    try await confirmation(expectedCount: 3) { confirm in
      call({ confirm() }, times: 3)
      try await Task.sleep(for: .seconds(4))
    }
    await confirmation { $0() }
    await confirmation(expectedCount: 0) { _ in }
    await confirmation("a range", expectedCount: 2...) { $0(count: 2) }
    await confirmation(within: .seconds(1)) { $0() }
    await confirmation(expectedCount: 0, within: .seconds(1)) { _ in }
    await confirmation("a range", expectedCount: 2..., within: .seconds(1)) { confirm in
      confirm()
      confirm()
    }
    #expect(time.now.offset == .seconds(6))
  }

  @Test func endsAsSoonAsTheOutcomeIsDecided() async {
    await confirmation(expectedCount: 3..., within: .seconds(10)) { confirm in
      call({ confirm() }, times: 5)
    }
    #expect(time.now.offset == .seconds(3))
  }

  @Test func theTimeBeginsWhenTheBodyReturns() async throws {
    try await confirmation(expectedCount: 5..., within: .seconds(2)) { confirm in
      call({ confirm() }, times: 5)
      try await Task.sleep(for: .seconds(3))
    }
    #expect(time.now.offset == .seconds(5))
  }

  @Test func tooFew() async throws {
    let line = #line + 2
    let failures = try await failures {
      await confirmation("ticks", expectedCount: 3, within: .seconds(10)) { confirm in
        call({ confirm() }, times: 2)
      }
    }
    #expect(
      failures == [
        Failure(
          text: """
            Expected "ticks" to be fulfilled exactly 3 times within 10.0 seconds, but it was fulfilled 2 \
            times.
            VirtualTime at 10.0 seconds, no pending sleep
            """, line: line)
      ])
  }

  @Test func tooMany() async throws {
    let failures = try await failures {
      await confirmation(expectedCount: 1...2, within: .seconds(10)) { confirm in
        call({ confirm() }, times: 5)
      }
      #expect(time.now.offset == .seconds(3))
      // Too many confirmations during the body are noticed when it returns.
      try await confirmation(expectedCount: 0, within: .seconds(10)) { confirm in
        confirm()
        try await Task.sleep(for: .seconds(1))
      }
      #expect(time.now.offset == .seconds(4))
    }
    #expect(
      failures.map { $0.text.prefix { $0 != "\n" } } == [
        """
        Expected the expectation to be fulfilled 1 to 2 times within 10.0 seconds, but it was fulfilled 3 \
        times after 3.0 seconds.
        """,
        """
        Expected the expectation to be fulfilled never within 10.0 seconds, but it was fulfilled 1 time \
        after 0.0 seconds.
        """,
      ])
  }

  @Test func anErrorOfTheBodyEndsIt() async {
    struct Oops: Error {}
    await #expect(throws: Oops.self) {
      try await confirmation(within: .seconds(10)) { _ in throw Oops() }
    }
    #expect(time.now.offset == .zero)
  }

  @MainActor @Test func theBodyKeepsTheCallersIsolation() async {
    final class Model { var count = 0 }
    let model = Model()
    let same = await confirmation(expectedCount: 2, within: .seconds(5)) { confirm in
      MainActor.preconditionIsolated()
      Task {
        for _ in 0..<2 {
          try await Task.sleep(for: .seconds(1))
          model.count += 1
          confirm()
        }
      }
      return model
    }
    #expect(same === model)
    #expect(model.count == 2)
  }

  @Test func aNegativeLimitIsAFailure() async throws {
    let failures = try await failures {
      await confirmation(within: .seconds(-1)) { $0() }
    }
    #expect(
      failures.map(\.text) == [
        """
        confirmation(within:) expects a limit of zero or more, but got -1.0 seconds. Time stays at \
        0.0 seconds: a clock does not run backwards.
        """
      ])
  }
}

@Suite struct ConfirmationOutsideAScopeTests {
  @Test func anExplicitClock() async {
    let clock = TestClock()
    await confirmation(within: .seconds(5), on: clock) { confirm in
      Task {
        try await clock.sleep(for: .seconds(3))
        confirm()
      }
    }
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func noClockIsAFailure() async throws {
    let failures = try await failures {
      await confirmation("ticks", within: .seconds(5)) { $0() }
    }
    #expect(
      failures.map(\.text) == [
        """
        confirmation(within:) expects to be called in a scope of virtual time, or to be given a \
        clock. The expectation "ticks" has neither.
        Write @Test(.virtualTime), run the test in withVirtualTime { … }, or write \
        `confirmation(within:on: clock)`.
        """
      ])
  }
}
