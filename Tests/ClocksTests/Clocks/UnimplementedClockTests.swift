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
