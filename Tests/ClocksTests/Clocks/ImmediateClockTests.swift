import Clocks
import Testing

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
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seconds in (1...200).shuffled() {
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
