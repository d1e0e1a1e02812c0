import Testing

@testable import TimeoutTask

/// What happens to a deadline's timer and to its operation at the same moment.
@Suite struct DeadlineEventTests {
  /// A clock whose time stands still.
  private struct StillClock: Clock {
    typealias Duration = Swift.Duration

    struct Instant: InstantProtocol {
      var offset: Duration = .zero
      func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
      func duration(to other: Self) -> Duration { other.offset - offset }
      static func < (a: Self, b: Self) -> Bool { a.offset < b.offset }
    }

    /// Whether a cancelled sleep returns as if it were over.
    var returnsWhenCancelled = false

    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      do {
        try await Task.sleep(for: .seconds(3600))
      } catch {
        if !returnsWhenCancelled { throw error }
      }
    }
  }

  @Test func aDeadlineThatIsNowLetsTheOperationBeginCancelled() async throws {
    let clock = StillClock()
    #expect(try await withDeadline(clock.now, clock: clock) { Task.isCancelled })
    #expect(try await withTimeout(.zero, clock: clock) { Task.isCancelled })
  }

  @Test func aTimerThatEndsAfterTheOperationIsNoTimeout() async {
    let clock = StillClock(returnsWhenCancelled: true)
    await #expect(throws: CancellationError.self) {
      try await withTimeout(.seconds(1), clock: clock) { throw CancellationError() }
    }
  }

  /// The memory of the task that a deadline cancelled may be that of another task later.
  @Test func aDeadlineThatHasEndedCountsForNobody() async throws {
    let clock = StillClock()
    let gate = Gate()
    let mistaken = try await withTimeout(.seconds(1), clock: clock) {
      #expect(ActiveDeadline.current != nil)
      return Task {
        await gate.pass()
        var mistaken = 0
        for _ in 0..<200 {
          if await Task(operation: { ActiveDeadline.current != nil }).value { mistaken += 1 }
          mistaken += await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 { group.addTask { ActiveDeadline.current != nil } }
            return await group.reduce(0) { $1 ? $0 + 1 : $0 }
          }
        }
        return mistaken
      }
    }
    gate.open()
    #expect(await mistaken.value == 0)
  }

  @Test func aDeadlineThatHasEndedDoesNotGovernWhatIsKeptInItsPlace() async throws {
    let (deadline, place) = try await withTimeout(.seconds(1), clock: StillClock()) {
      // Only compared from here on: the task is over.
      let place = UInt(bitPattern: ActiveDeadline.placeOfInnermost)
      let deadline = try #require(ActiveDeadline.current)
      #expect(deadline.governs(UnsafeRawPointer(bitPattern: place)))
      #expect(!deadline.governs(nil))
      return (deadline, place)
    }
    #expect(!deadline.governs(UnsafeRawPointer(bitPattern: place)))
  }
}
