import Testing

@testable import TimeoutTask

/// Events of a deadline's timer and of its operation at the same moment.
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

    /// Whether a cancelled sleep returns without an error.
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

  @Test func aTimerThatEndsAfterTheOperationCausesNoTimeout() async {
    let clock = StillClock(returnsWhenCancelled: true)
    await #expect(throws: CancellationError.self) {
      try await withTimeout(.seconds(1), clock: clock) { throw CancellationError() }
    }
  }

  /// A later task may have the memory of the task that the deadline governed.
  @Test func anEndedDeadlineCountsInNoTask() async throws {
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

  @Test func anEndedDeadlineDoesNotGovernALaterValueAtItsAddress() async throws {
    let (deadline, place) = try await withTimeout(.seconds(1), clock: StillClock()) {
      // Only compared after the task has ended.
      let place = UInt(bitPattern: ActiveDeadline.placeOfInnermost)
      let deadline = try #require(ActiveDeadline.current)
      #expect(deadline.governs(UnsafeRawPointer(bitPattern: place)))
      return (deadline, place)
    }
    #expect(!deadline.governs(UnsafeRawPointer(bitPattern: place)))
  }
}
