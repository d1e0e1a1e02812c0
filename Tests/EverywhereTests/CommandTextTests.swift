import Foundation
import TestTraits
import Testing

/// What the command runs for a token, and what it says.
extension EverywhereCommandTests {
  private static let suite = "EverywhereTests.EverywhereSamples"

  // MARK: - A token

  @Test(.enabled(if: isTested)) func aTokenRunsOneTest() async throws {
    let child = try await run(
      ["--replay", "\(Self.suite)/onTheMainActor()@7"], filter: "EverywhereSamples")
    #expect(child.standardOutput.contains("\nclocks-everywhere: 1 test: 1 passed; "))
    #expect(
      child.standardOutput.contains("\nReplayed \(Self.suite)/onTheMainActor()@7: it passed.\n"))
    #expect(child.standardError.contains("Test run with 1 test in 1 suite passed"))

    let xcTest = try await runXCTest(
      ["--replay", "EverywhereTests.EverywhereXCTSamples/testWait@7"],
      "EverywhereTests.EverywhereXCTSamples")
    #expect(xcTest.standardOutput.contains("\nclocks-everywhere: 1 test: 1 passed; "))
    #expect(xcTest.standardOutput.contains("Executed 1 test, "))
  }

  /// A script that reads the report must not find that of an earlier run.
  @Test(.enabled(if: isTested)) func aReportIsNeverThatOfAnEarlierRun() async throws {
    try await withTemporaryPath { report in
      func write() throws {
        try "earlier".write(toFile: report, atomically: false, encoding: .utf8)
      }
      try write()
      let child = try await run(
        ["--report", report], filter: "there is no such test", exits: 69)
      let data = try Data(contentsOf: URL(fileURLWithPath: report))
      #expect(try JSONDecoder().decode(Report.self, from: data).tests.isEmpty)
      #expect(child.standardError.contains("clocks-everywhere: no test has run in virtual time."))
      try write()
      _ = try await run(
        ["--report", report, "--replay", "Shop.Cart/total()@1"], filter: "sleeps", exits: 64)
      #expect(!FileManager.default.fileExists(atPath: report))
    }
  }

  @Test(
    .enabled(if: isTested),
    arguments: ["\(suite)/onTheMain()@7", "\(suite)/sleep@7", "sleeps(_:)@7"])
  func aTokenOfNoTestIsAnError(_ token: String) async throws {
    let child = try await run(["--replay", token], filter: "EverywhereSamples", exits: 64)
    #expect(
      child.standardError.lines(containing: "clocks-everywhere: ") == [
        """
        clocks-everywhere: --replay names \(token.dropLast(2)), but the command has no such test that can run in \
        virtual time.
        """
      ])
    #expect(!child.standardOutput.contains("clocks-everywhere: "), "\(child.standardOutput)")
  }

  /// Runs the command with a program that stands for `swift`. Returns the arguments of each of its calls, too.
  private func runSwiftTest(
    _ options: [String], _ arguments: [String]
  ) async throws -> (child: ChildProcess, calls: [String]) {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let script = """
        #!/bin/sh
        echo "$@" >> '\(folder)/calls'
        case " $* " in *' --skip-build '*) ;; *) echo 'warning: nothing matches' >&2; exit 0;; esac
        exec '\(ChildProcess.testBundle)' --testing-library swift-testing --filter onTheMainActor
        """
      // Not by this process, for the reason given in `theFolderOfTheCommandMayContainSpacesAndColons`.
      let write = try await ChildProcess.run(
        "/bin/sh",
        arguments: [
          "-c", #"printf %s "$1" > "$2" && chmod 700 "$2""#, "sh", script, "\(folder)/swift",
        ])
      #expect(write.exitCode == 0, "\(write.standardError)")
      let child = try await ChildProcess.run(
        ChildProcess.command, arguments: options + ["\(folder)/swift", "test"] + arguments,
        environment: ["EVERYWHERE_SAMPLES": "1"])
      let calls = try String(contentsOfFile: "\(folder)/calls", encoding: .utf8)
      return (child, calls.split(separator: "\n").map(String.init))
    }
  }

  @Test(.enabled(if: isTested)) func swiftTestRunsOneTestForAToken() async throws {
    let (child, calls) = try await runSwiftTest(
      ["--replay", "\(Self.suite)/onTheMainActor()@7"],
      [
        "--filter", "a", "-c", "release", "--filter=b", "-s", "c", "--specifier", "d", "--skip",
        "e",
      ])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect(
      calls == [
        "test --filter a -c release --filter=b -s c --specifier d --skip e --skip .",
        #"""
        test --skip-build -c release --skip e --disable-xctest --filter \#
        ^EverywhereTests\.EverywhereSamples/onTheMainActor\(\)(/|$)
        """#,
      ])
    let xcTest = try await runSwiftTest(["--replay", "M.C/testIt@7"], [])
    #expect(xcTest.child.exitCode == 64)
    #expect(
      xcTest.calls.last == #"test --skip-build --disable-swift-testing --filter ^M\.C/testIt(/|$)"#)
  }

  /// The order that was asked for fails, so the test is repeated first in, first out.
  @Test(.enabled(if: isTested)) func aReplayThatFailsSaysWhatWasRun() async throws {
    let search = try await run(
      ["--orders", "8"], filter: "EverywhereSamples/dependsOnTheOrder", exits: 1)
    let line = try #require(search.standardOutput.lines(containing: "Replay: ").first)
    let found = try #require(line.firstMatch(of: /'(\S+)@(\d+)'/))
    let replay = try await run(
      ["--replay", "\(found.1)@\(found.2)"], filter: "EverywhereSamples", exits: 1)
    #expect(
      replay.standardOutput.contains(
        "\nReplayed \(found.1)@\(found.2): it failed. First in, first out, it passed.\n"),
      "\(replay.standardOutput)")
    let name = "\n  \(Self.suite)/dependsOnTheOrder()"
    #expect(replay.standardOutput.contains("\(name)\n"), "\(replay.standardOutput)")
    let seeded = try await run(
      ["--seed", "\(found.2)"], filter: "EverywhereSamples/(dependsOnTheOrder|fails)\\(", exits: 1)
    #expect(
      seeded.standardOutput.contains(
        "\(name): failed with seed \(found.2), and passed first in, first out\n"),
      "\(seeded.standardOutput)")
    #expect(
      seeded.standardOutput.contains(
        "/fails(): failed with seed \(found.2), and first in, first out\n"),
      "\(seeded.standardOutput)")
  }

  // MARK: - The build

  /// `swift test` warns when the command only builds, and no test matches.
  @Test(.enabled(if: isTested && areThreadsShown))
  func theBuildWritesNothing() async throws {
    let (child, calls) = try await runSwiftTest([], ["--quiet"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    #expect(calls == ["test --quiet --skip .", "test --skip-build --quiet"])
    #expect(!child.standardError.contains("warning"), "\(child.standardError)")
  }

  // MARK: - The report

  @Test(.enabled(if: isTested)) func theHeadingCountsEachResult() async throws {
    let one = try await run(["--orders", "8"], filter: "dependsOnTheOrder", exits: 1)
    #expect(
      one.standardOutput.contains(
        "\nclocks-everywhere: 1 test in 8 orders: 1 is order-dependent; "), "\(one.standardOutput)")
    let three = try await run(
      ["--orders", "8"], filter: "EverywhereSamples/(dependsOnTheOrder|namesAFile|fails)", exits: 1)
    #expect(
      three.standardOutput.contains(
        """

        clocks-everywhere: 3 tests in 8 orders: 1 passed in all, 1 is order-dependent, 1 failed; \

        """.dropLast()), "\(three.standardOutput)")
  }

  @Test(.enabled(if: isTested)) func theReportNamesAFailureThatOccursOnlyInRealTime() async throws {
    // The repetition in real time comes only if a test has failed.
    let child = try await run(
      [], filter: "EverywhereSamples/(fails|passesOnlyInVirtualTime)\\(", exits: 1)
    let told = """
      Passes in virtual time, and failed in the repetition in real time:
        \(Self.suite)/passesOnlyInVirtualTime()
          Expectation failed:
      """
    #expect(child.standardOutput.contains("\n\(told) "), "\(child.standardOutput)")
    #expect(
      child.standardOutput.contains("clocks-everywhere: 2 tests: 1 passed, 1 failed; "),
      "\(child.standardOutput)")
    // The times of tests that run in parallel.
    #expect(
      child.standardOutput.contains(
        /\. Added up, the tests took [0-9.]+ s without virtual time, and [0-9.]+ s with it\n/),
      "\(child.standardOutput)")
  }

  /// Neither virtual time nor an order of jobs explains the failure.
  @Test(.enabled(if: isTested), arguments: [[], ["--orders", "2"]])
  func theReportNamesAFailureOfATestInRealTime(_ options: [String]) async throws {
    let child = try await run(
      options + ["--real", "passesOnlyInTheRepetition"], filter: "passesOnlyInTheRepetition",
      exits: 1)
    let count = options.isEmpty ? "" : ": failed in 2 of 2"
    let told = """
      Failed, and ran in real time:
        EverywhereTests.EverywhereFlakySamples/passesOnlyInTheRepetition()\(count)
          Expectation failed:
      """
    #expect(child.standardOutput.contains("\n\(told) "), "\(child.standardOutput)")
    #expect(child.standardOutput.contains(": 1 failed; "), "\(child.standardOutput)")
    #expect(!child.standardOutput.contains("To leave it in real time"), "\(child.standardOutput)")
    #expect(!child.standardOutput.contains("in virtual time"), "\(child.standardOutput)")
  }

  @Test(.enabled(if: isTested)) func testsWithOneReasonAreCounted() async throws {
    let filter = "EverywhereSamples/(onTheMainActor|namesAFile|leavesATaskBehind|sleepsForNoTime)"
    let child = try await run(["--only", "onTheMainActor"], filter: filter)
    #expect(
      child.standardOutput.contains(
        "\nIn real time:\n  3 tests: because --only names other tests\n"), "\(child.standardOutput)"
    )
    let few = try await run(["--real", "leavesATaskBehind"], filter: filter)
    #expect(
      few.standardOutput.contains(
        "\nIn real time:\n  \(Self.suite)/leavesATaskBehind(): as --real asks\n"),
      "\(few.standardOutput)")
  }

  @Test(.enabled(if: isTested)) func theAdviceFitsTheTestLibrary() async throws {
    let child = try await run([], filter: "onTheMainActor")
    #expect(
      child.standardOutput.lines(containing: "To use virtual time without this command") == [
        "To use virtual time without this command: depend on ClocksTestKit, and write @Suite(.virtualTime)."
      ])
    let xcTest = try await runXCTest([], "EverywhereTests.EverywhereXCTSamples/testWait")
    #expect(
      xcTest.standardOutput.lines(containing: "To use virtual time without this command") == [
        "To use virtual time without this command: depend on Clocks, and write `try await withVirtualTime { … }` in the tests."
      ])
  }

  private func runXCTest(_ options: [String], _ tests: String) async throws -> ChildProcess {
    let child = try await ChildProcess.run(
      ChildProcess.command, arguments: options + [ChildProcess.testBundle, tests],
      environment: ["EVERYWHERE_SAMPLES": "1"])
    #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    return child
  }
}
