import Clocks
import ClocksTestKit
import Foundation
import TestTraits
import Testing

@globalActor private actor OnThread {
  static let shared = OnThread()
  /// Begins each job late.
  static let executor = LoopExecutor(pause: 1_000)

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.executor.asUnownedSerialExecutor()
  }
}

@globalActor private actor Shared {
  static let shared = Shared()

  func work() { usleep(1_000) }
}

@OnThread private final class Session {
  let ended: @Sendable () -> Void

  nonisolated init(ended: @escaping @Sendable () -> Void) { self.ended = ended }

  isolated deinit {
    OnThread.preconditionIsolated()
    ended()
  }
}

@Shared private final class Subscription {
  let ended: @Sendable () -> Void

  nonisolated init(ended: @escaping @Sendable () -> Void) { self.ended = ended }

  isolated deinit {
    Shared.preconditionIsolated()
    ended()
  }
}

@globalActor private actor Alone {
  static let shared = Alone()

  func work() {}
}

@Alone private final class Lease {
  let ended: @Sendable () -> Void

  nonisolated init(ended: @escaping @Sendable () -> Void) { self.ended = ended }

  isolated deinit { ended() }
}

private actor Journal {
  let ended: @Sendable () -> Void

  init(ended: @escaping @Sendable () -> Void) { self.ended = ended }

  func write() async { await Task.yield() }

  isolated deinit {
    preconditionIsolated()
    ended()
  }
}

/// The clock waits for deinits that run where no task of the test does.
@Suite struct IsolatedDeinitTests {
  @Test(.repeated(20)) func onAnExecutor() async throws {
    let clock = TestClock()
    let seen = Tally()
    for round in 1...5 {
      Task {
        let session = Session { seen.add() }
        try await clock.sleep(for: .seconds(1))
        withExtendedLifetime(session) {}
      }
      await clock.advance(by: .seconds(1))
      #expect(seen.value == round)
    }
  }

  @Test(.repeated(20), .virtualTime) func aTaskThatADeinitCreates() async throws {
    let time = try VirtualTime.required
    let seen = Tally()
    do {
      let session = Session {
        Task {
          try await Task.sleep(for: .seconds(60))
          seen.add()
        }
      }
      try await Task.sleep(for: .seconds(1))
      withExtendedLifetime(session) {}
    }
    try await Task.sleep(for: .seconds(61))
    #expect(seen.value == 1)
    #expect(time.now == .seconds(62))
  }

  /// Most of the time, the actor is busy with other tests.
  @Test(.repeated(24)) func onAnActorThatTestsShare() async throws {
    let clock = TestClock()
    let seen = Tally()
    for round in 1...10 {
      Task {
        let subscription = Subscription { seen.add() }
        try await clock.sleep(for: .seconds(1))
        withExtendedLifetime(subscription) {}
      }
      Task {
        try await clock.sleep(for: .seconds(1))
        await Shared.shared.work()
      }
      await clock.advance(by: .seconds(1))
      #expect(seen.value == round)
    }
  }

  @Test(.schedules(20)) func inEachSchedule() async throws {
    let seen = Tally()
    let task = Task {
      let lease = Lease { seen.add() }
      try await Task.sleep(for: .seconds(1))
      withExtendedLifetime(lease) {}
    }
    async let work: Void = Alone.shared.work()
    try await task.value
    await work
    await VirtualTime.current?.settle()
    #expect(seen.value == 1)
  }

  /// No task can use the actor any more. So the runtime runs its deinit when it is released, and not later.
  @Test(.virtualTime, .repeated(5)) func ofTheActorItself() async throws {
    let seen = Tally()
    do {
      let journal = Journal { seen.add() }
      await journal.write()
      try await Task.sleep(for: .seconds(1))
      await journal.write()
    }
    #expect(seen.value == 1)
  }

  @Test(.schedules(20)) func ofTheActorItselfInEachSchedule() async throws {
    let seen = Tally()
    do {
      let journal = Journal { seen.add() }
      async let first: Void = journal.write()
      async let second: Void = journal.write()
      _ = await (first, second)
    }
    #expect(seen.value == 1)
  }
}
