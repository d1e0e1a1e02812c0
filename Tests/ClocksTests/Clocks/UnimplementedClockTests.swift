import Clocks
import Testing

@Suite struct UnimplementedClockTests {
  @Test func everyUseIsAFailureAtTheLineWhereTheClockWasMade() async throws {
    let clock = UnimplementedClock(name: "Player.clock")
    let line = #_sourceLocation.line - 1

    let issues = try await recordedIssues {
      #expect(clock.now == .init())
      #expect(clock.minimumResolution == .zero)
      try await clock.sleep(until: .init(offset: .seconds(3)))
    }

    #expect(
      issues.map(\.message) == [
        "The clock \"Player.clock\" is unimplemented, but was asked for its time.",
        "The clock \"Player.clock\" is unimplemented, but was asked for its minimum resolution.",
        "The clock \"Player.clock\" is unimplemented, but was asked for a sleep until 3.0 seconds.",
      ])
    for issue in issues {
      #expect(issue.fileID == #fileID)
      #expect(issue.filePath == #filePath)
      #expect(issue.line == line)
      #expect(issue.column == 35)
    }
  }

  @Test func aSleepForADurationIsTwoUses() async throws {
    let clock = UnimplementedClock()
    let issues = try await recordedIssues { try await clock.sleep(for: .seconds(1)) }
    #expect(
      issues.map(\.message) == [
        "The clock \"UnimplementedClock\" is unimplemented, but was asked for its time.",
        "The clock \"UnimplementedClock\" is unimplemented, but was asked for a sleep until "
          + "1.0 seconds.",
      ])
  }

  @Test func continuesAsAnImmediateClock() async throws {
    let clock = UnimplementedClock(now: .init(offset: Beats(count: 2)))
    let issues = try await recordedIssues {
      try await clock.sleep(for: Beats(count: 5))
      #expect(clock.now.offset == Beats(count: 7))
      try await clock.sleep(until: .init(offset: Beats(count: 1)))
      #expect(clock.now.offset == Beats(count: 7))
    }
    #expect(issues.count == 5)
  }

  @Test func cancelledTaskRecordsItsUseAndThrows() async throws {
    let clock = UnimplementedClock()
    let issues = try await recordedIssues {
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          withUnsafeCurrentTask { $0?.cancel() }
          await #expect(throws: CancellationError.self) {
            try await clock.sleep(until: .init(offset: .seconds(1)))
          }
        }
      }
      #expect(clock.now.offset == .zero)
    }
    #expect(issues.count == 2)
  }

  /// A deadline or a tolerance that is too long would be a trap of the clock below.
  ///
  /// `Task.immediate` returns when its task is suspended for the first time: in its sleep.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func noUseTrapsOnARealClock() async throws {
    let (least, greatest) = (Duration(attoseconds: .min), Duration(attoseconds: .max))
    let long = Duration.seconds(Int64.max)
    let clock = UnimplementedClock(ContinuousClock(), name: "Player.clock")
    let issues = try await recordedIssues {
      for (offset, tolerance) in [(greatest, greatest), (long, least)] {
        let task = Task.immediate {
          try await clock.sleep(until: .init(offset: offset), tolerance: tolerance)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      try await clock.sleep(until: .init(offset: least))
    }
    #expect(
      issues.map(\.message)
        == [greatest, long, least].map {
          "The clock \"Player.clock\" is unimplemented, but was asked for a sleep until "
            + "\(ImmediateClock<Duration>.Instant(offset: $0))."
        })
  }

  @Test func creatingOneIsNotAUse() async throws {
    let issues = try await recordedIssues {
      let clock: any Clock<Duration> = .unimplemented()
      _ = clock
      _ = UnimplementedClock<Beats>()
      _ = UnimplementedClock(name: "Player.clock").name
    }
    #expect(issues == [])
  }

  @Test func staticSpellingCarriesTheNameAndTheLine() async throws {
    func use(_ clock: some Clock<Duration>) { _ = clock.now }
    let line = #_sourceLocation.line + 2
    let issues = try await recordedIssues {
      use(.unimplemented(name: "Player.clock"))
    }
    #expect(
      issues == [
        RecordedIssue(
          "The clock \"Player.clock\" is unimplemented, but was asked for its time.",
          at: SourceLocation(
            fileID: #fileID, filePath: #filePath, line: line, column: 25))
      ])
  }
}
