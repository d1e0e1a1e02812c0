import Foundation
import TestTraits
import Testing

@testable import Clocks

/// What explored tests in child processes write about their searches, and the page that is made of it.
@Suite struct SearchReportTests {
  private func page(_ folder: String) async throws -> ChildProcess {
    try await ChildProcess.run(ChildProcess.command, arguments: ["merge", folder])
  }

  @Test func eachShardWritesAReport() async throws {
    try await withTemporaryPath { folder in
      for shard in 1...2 {
        let child = try await exploredSample(
          "passes", ["CLOCKS_SCHEDULES_REPORTS": folder, "CLOCKS_SHARD": "\(shard)/2"])
        #expect(child.exitCode == 0, "\(child.standardOutput)")
      }
      let page = try await page(folder)
      #expect(page.exitCode == 0, "\(page.standardError)")
      let row = "| `ClocksTestKitTests.ExploredChildSamples/passes()` | 2 of 2 |"
      #expect(page.standardOutput.contains(row), "\(page.standardOutput)")
      #expect(
        page.standardOutput.contains("1 test, 0 failed, 1 complete"), "\(page.standardOutput)")
    }
  }

  @Test func eachSearchAddsALineToTheReportOfThisProcess() async throws {
    try await withTemporaryPath { folder in
      func report() throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return try String(contentsOfFile: "\(folder)/\(#require(names.first))", encoding: .utf8)
      }
      func add(_ schedules: Int) {
        var search = SearchReports.Search()
        search.schedules = schedules
        SearchReports.add(search, of: "T/a(_:)", .whole, to: folder)
      }
      add(1)
      let first = try report()
      #expect(first.split(separator: "\n").count == 1)
      add(2)
      add(3)
      let all = try report()
      #expect(all.hasPrefix(first))
      let schedules = all.matches(of: /"schedules":(\d+)/).map(\.1)
      #expect(all.split(separator: "\n").count == 3 && schedules == ["1", "2", "3"], "\(all)")
      let page = try await page(folder)
      #expect(page.standardOutput.contains("| `T/a(_:)` | 1 of 1 | 6 |"), "\(page.standardOutput)")
    }
  }

  @Test func eachTestCaseIsNamedByItsArguments() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample("hasCases", ["CLOCKS_SCHEDULES_REPORTS": folder])
      #expect(child.exitCode == 0, "\(child.standardOutput)")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      let report = try String(contentsOfFile: "\(folder)/\(#require(names.first))", encoding: .utf8)
      let cases = report.matches(of: /"testCase":"([^"]*)"/).map { String($0.1) }
      #expect(cases.sorted() == ["7", "8"], "\(report)")
    }
  }

  @Test func aProcessReplacesTheReportOfAnotherOne() async throws {
    try await withTemporaryPath { folder in
      for _ in 1...2 {
        let child = try await exploredSample("passes", ["CLOCKS_SCHEDULES_REPORTS": folder])
        #expect(child.exitCode == 0, "\(child.standardOutput)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.count == 1)
      let report = try String(contentsOfFile: "\(folder)/\(names[0])", encoding: .utf8)
      #expect(report.split(separator: "\n").count == 1)
    }
  }

  @Test func aFailureIsOnThePageWithItsToken() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample("late", ["CLOCKS_SCHEDULES_REPORTS": folder + "/a/b"])
      #expect(child.exitCode == 1)
      let token = try #require(child.standardOutput.firstMatch(of: /schedule\("(1:[^"]*)"\)/)).1
      let page = try await page(folder)
      #expect(page.exitCode == 1)
      #expect(
        page.standardOutput.contains("Replay: `.schedule(\"\(token)\")`"), "\(page.standardOutput)")
    }
  }

  /// The order is possible only with the slack of the search, so each replay line has the slack.
  @Test func aReplayLineHasTheSlack() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample("wakesLate", ["CLOCKS_SCHEDULES_REPORTS": folder])
      #expect(child.exitCode == 1)
      let line = try #require(
        child.standardOutput.firstMatch(
          of: /Replay: @Test\((\.schedule\("(1:[^"]*)", slack: \.milliseconds\(5\)\))\)/),
        "\(child.standardOutput)")
      let page = try await page(folder)
      #expect(page.standardOutput.contains("Replay: `\(line.1)`"), "\(page.standardOutput)")
      let replay = try await exploredSample(
        "replaysALateWake", [ExploredChildSamples.tokenVariable: String(line.2)])
      #expect(replay.exitCode == 1)
      #expect(
        replay.standardOutput.contains("Expectation failed: await box.value == 2"),
        "\(replay.standardOutput)")
    }
  }

  // Under AddressSanitizer, the backtracer of the runtime does not end.

  @Test(.disabled(if: isUnderAddressSanitizer)) func aCrashIsOnThePage() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample("crashes", ["CLOCKS_SCHEDULES_REPORTS": folder])
      #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
      let replay = try #require(
        child.standardOutput.firstMatch(of: /Replay: @Test\((\.schedule\("1:[^"]+"\))\)/),
        "\(child)"
      ).1
      let page = try await page(folder)
      #expect(page.exitCode == 1)
      #expect(
        page.standardOutput.contains(
          """
          Schedule 3 ends the process:

          ```text
          The process ends with signal \(trapSignal).
          ```

          Replay: `\(replay)`

          """), "\(page.standardOutput)")
    }
  }

  @Test(.disabled(if: isUnderAddressSanitizer))
  func aFailureWhoseReplayCrashesIsOnThePage() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample(
        "crashesInAReplay", ["CLOCKS_SCHEDULES_REPORTS": folder])
      #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
      let tokens = child.standardOutput.matches(of: /Replay: @Test\(\.schedule\("([^"]+)"\)\)/)
        .map(\.1)
      try #require(tokens.count == 2, "\(child)")
      let page = try await page(folder)
      #expect(page.exitCode == 1)
      let end = """
        Schedule \(tokens[0]).
        A run that was to shrink or replay this schedule ends the process with signal \(trapSignal).
        ```

        Replay: `.schedule("\(tokens[1])")`

        """
      #expect(page.standardOutput.contains(end), "\(page.standardOutput)")
      #expect(page.standardOutput.contains("It is the third run."), "\(page.standardOutput)")
    }
  }

  @Test(.disabled(if: isUnderAddressSanitizer))
  func aRecordedRunThatCrashesIsOnThePage() async throws {
    try await withTemporaryPath { folder in
      let child = try await exploredSample(
        "crashesWhenRecorded",
        ["CLOCKS_SCHEDULES_REPORTS": folder + "/reports", "CLOCKS_TRACE": folder + "/traces"])
      #expect(child.isEndedBySignal && child.exitCode == trapSignal, "\(child)")
      let text = """
        The search has passed. A run that was to be recorded, first in, first out, ends the process with signal \
        \(trapSignal).
        """
      #expect(
        child.lines(containing: "crashesWhenRecorded(): " + text).count == 1,
        "\(child.standardOutput)")
      let page = try await page(folder + "/reports")
      #expect(page.exitCode == 1)
      #expect(
        page.standardOutput.contains("Schedule 1 ends the process:\n\n```text\n\(text)\n```\n"),
        "\(page.standardOutput)")
      #expect(page.standardOutput.contains("1 test, 1 failed, 0 complete, in 2 schedules."))
    }
  }

  @Test func aFolderThatCannotBeCreatedIsReported() async throws {
    try await withTemporaryPath { file in
      try "in the way".write(toFile: file, atomically: true, encoding: .utf8)
      let child = try await exploredSample("passes", ["CLOCKS_SCHEDULES_REPORTS": file + "/x"])
      #expect(child.exitCode == 0)
      #expect(child.standardOutput.contains("A report of a search is not written: "))
    }
  }
}
