import Clocks
import ClocksSearch
import Foundation
import TestTraits
import Testing

/// A duration that calls a function whenever it is compared.
private struct Noticed: DurationProtocol, Hashable {
  @TaskLocal static var isCompared: @Sendable () -> Void = {}

  var count: Int

  static let zero = Noticed(count: 0)

  static func + (a: Noticed, b: Noticed) -> Noticed { Noticed(count: a.count + b.count) }
  static func - (a: Noticed, b: Noticed) -> Noticed { Noticed(count: a.count - b.count) }
  static func * (a: Noticed, b: Int) -> Noticed { Noticed(count: a.count * b) }
  static func / (a: Noticed, b: Int) -> Noticed { Noticed(count: a.count / b) }
  static func / (a: Noticed, b: Noticed) -> Double { Double(a.count) / Double(b.count) }
  static func < (a: Noticed, b: Noticed) -> Bool {
    isCompared()
    return a.count < b.count
  }
}

@Suite struct ImmediateClockTests {
  @Test func sleepsReturnImmediatelyAndMoveTimeToTheirDeadline() async throws {
    let clock = ImmediateClock(now: .init(offset: .seconds(5)))
    #expect(clock.now == .init(offset: .seconds(5)))
    #expect(clock.minimumResolution == .zero)

    try await clock.sleep(for: .seconds(2))
    #expect(clock.now == .init(offset: .seconds(7)))
    try await clock.sleep(until: .init(offset: .seconds(3600)), tolerance: .seconds(1))
    #expect(clock.now == .init(offset: .seconds(3600)))
  }

  @Test func timeNeverMovesBackwards() async throws {
    let clock = ImmediateClock()
    try await clock.sleep(until: .init(offset: .seconds(9)))
    try await clock.sleep(until: .init(offset: .seconds(4)))
    #expect(clock.now.offset == .seconds(9))
    try await clock.sleep(for: .seconds(-1))
    #expect(clock.now.offset == .seconds(9))
  }

  @Test func timeIsTheLatestDeadlineOfManyTasks() async throws {
    let clock = ImmediateClock()
    var random = Mixer(seed: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seconds in (1...200).shuffled(using: &random) {
        group.addTask {
          let deadline = ImmediateClock<Duration>.Instant(offset: .seconds(seconds))
          try await clock.sleep(until: deadline)
          #expect(clock.now >= deadline)
        }
      }
      try await group.waitForAll()
    }
    #expect(clock.now.offset == .seconds(200))
  }

  @Test func cancellationIsCheckedFirst() async {
    let clock = ImmediateClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: .init(offset: .seconds(1)))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.now.offset == .zero)
  }

  @Test func sleepForEverMovesToTheEndOfTime() async throws {
    let forEver = Duration(attoseconds: .max)
    let clock = ImmediateClock(now: .init(offset: .seconds(1)))
    try await clock.sleep(for: forEver)
    #expect(clock.now.offset == forEver)
    try await clock.sleep(for: forEver)
    #expect(clock.now.offset == forEver)
  }

  @Test func distancesStopAtTheEndsOfTheRange() {
    typealias Instant = ImmediateClock<Duration>.Instant
    let first = Instant(offset: Duration(attoseconds: .min))
    let last = Instant(offset: Duration(attoseconds: .max))
    #expect(first.duration(to: last) == Duration(attoseconds: .max))
    #expect(last.duration(to: first) == Duration(attoseconds: .min))
    #expect(Instant(offset: .seconds(1)).duration(to: Instant(offset: .seconds(3))) == .seconds(2))
    #expect(first < last)
    #expect(Instant() == Instant(offset: .zero))
  }

  @Test func countsInAnyDuration() async throws {
    let clock = ImmediateClock<Beats>(now: .init(offset: Beats(count: 8)))
    try await clock.sleep(for: Beats(count: 4))
    #expect(clock.now.offset == Beats(count: 12))
  }

  /// The user's code may do anything while durations are compared, for example wait for another thread.
  @Test func anotherThreadMayReadTheClockWhileDurationsAreCompared() async throws {
    let clock = ImmediateClock<Noticed>()
    let reads = Tally()
    let read: @Sendable () -> Void = {
      let isRead = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        if clock.now.offset == .zero { reads.add() }
        isRead.signal()
      }
      _ = isRead.wait(timeout: .now() + 60)
    }
    try await Noticed.$isCompared.withValue(read) {
      try await clock.sleep(until: .init(offset: Noticed(count: 1)))
    }
    #expect(reads.value == 1)
    #expect(clock.now.offset == Noticed(count: 1))
  }

  @Test func twoClocksHaveDifferentTimesAndIdentities() async throws {
    let clock = ImmediateClock()
    let other = ImmediateClock()
    try await clock.sleep(for: .seconds(1))
    #expect(other.now.offset == .zero)
    #expect(clock.id != other.id)
    #expect(clock.id == clock.id)
  }

  @Test func staticSpelling() async throws {
    func seconds(_ clock: some Clock<Duration>) async throws -> Duration {
      try await clock.measure { try await clock.sleep(for: .seconds(3)) }
    }
    #expect(try await seconds(.immediate) == .seconds(3))

    let clock: any Clock<Duration> = .immediate
    try await clock.sleep(for: .seconds(3))
    #expect((clock as? ImmediateClock<Duration>)?.now.offset == .seconds(3))
  }
}

/// A loop on an immediate clock yields.
@Suite struct ImmediateLoopTests {
  @Test func besideATestClock() async {
    let other = TestClock()
    let clock = ImmediateClock()
    let task = Task {
      while !Task.isCancelled { try? await clock.sleep(for: .seconds(1)) }
    }
    await Task.yield()
    task.cancel()
    await other.advance()
    await task.value
  }

  @MainActor @Test func onTheMainActor() async {
    let clock = ImmediateClock()
    var count = 0
    let task = Task {
      while true {
        try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: nil)
        count += 1
      }
    }
    while count < 3 { await Task.yield() }
    task.cancel()
    _ = await task.result
  }

  @Test func aSingleSleepDoesNotGiveWay() async throws {
    let other = TestClock()
    let log = Log<String>()
    Task { log.add("another task") }
    let clock = ImmediateClock()
    for _ in 1..<100 { try await clock.sleep(for: .seconds(1)) }
    log.add("ninety-nine sleeps")
    try await clock.sleep(for: .seconds(1))
    log.add("a hundred sleeps")
    #expect(log.all == ["ninety-nine sleeps", "another task", "a hundred sleeps"])
    withExtendedLifetime(other) {}
  }
}
