import Foundation
import TestTraits
import Testing

/// What explored tests in child processes write about their searches, and the page that is made of it.
@Suite struct SearchReportTests {
  private func run(_ sample: String, _ environment: [String: String]) async throws -> ChildProcess {
    try await ChildProcess.runTests(
      "ExploredChildSamples/\(sample)",
      environment: ["CLOCKS_TESTS_EXPLORED_SAMPLES": "1"].merging(environment) { $1 })
  }

  private func page(_ folder: String) async throws -> ChildProcess {
    let command = URL(fileURLWithPath: ChildProcess.testBundle).deletingLastPathComponent()
      .appendingPathComponent("clocks-everywhere").path
    return try await ChildProcess.run(command, arguments: ["merge", folder])
  }

  @Test func eachShardWritesAReport() async throws {
    try await withTemporaryPath { folder in
      for shard in 1...2 {
        let child = try await run(
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

  @Test func aFailureIsOnThePageWithItsToken() async throws {
    try await withTemporaryPath { folder in
      let child = try await run("late", ["CLOCKS_SCHEDULES_REPORTS": folder + "/a/b"])
      let token = try #require(child.standardOutput.firstMatch(of: /schedule\("(1:[^"]*)"\)/)).1
      let page = try await page(folder)
      #expect(page.exitCode == 1)
      #expect(
        page.standardOutput.contains("Replay: `.schedule(\"\(token)\")`"), "\(page.standardOutput)")
    }
  }

  @Test func aCrashIsOnThePage() async throws {
    try await withTemporaryPath { folder in
      _ = try await run("crashes", ["CLOCKS_SCHEDULES_REPORTS": folder])
      let page = try await page(folder)
      #expect(page.exitCode == 1)
      #expect(page.standardOutput.contains(" ends the process:"), "\(page.standardOutput)")
      #expect(page.standardOutput.contains("Replay: `.schedule(\"1:"), "\(page.standardOutput)")
    }
  }

  @Test func aFolderThatCannotBeCreatedIsReported() async throws {
    try await withTemporaryPath { file in
      try "in the way".write(toFile: file, atomically: true, encoding: .utf8)
      let child = try await run("passes", ["CLOCKS_SCHEDULES_REPORTS": file + "/x"])
      #expect(child.exitCode == 0)
      #expect(child.standardOutput.contains("A report of a search is not written: "))
    }
  }
}
