import Foundation
import TestTraits
import Testing

/// The command, which finds the library beside itself.
@Suite struct EverywhereCommandTests {
  /// Whether the command is tested: on Linux, and without a sanitizer.
  ///
  /// The library has another name elsewhere, and one that was built with a sanitizer cannot be preloaded.
  static let isTested: Bool = {
    #if os(Linux)
      !hasSanitizer
    #else
      false
    #endif
  }()

  struct Report: Decodable {
    struct Test: Decodable {
      struct Orders: Decodable {
        var passed: Int
        var failed: Int
      }

      var name: String
      var result: String
      var realSeconds: Double
      var virtualSeconds: Double
      var orders: Orders
      var reasons: [String]
      var replay: String?
    }

    var tests: [Test]
    var realSeconds: Double
    var virtualSeconds: Double
  }

  @Test(.enabled(if: isTested)) func theReportNamesWhatDependsOnTheOrder() async throws {
    try await withTemporaryPath { report in
      let filter = "dependsOnTheOrder|EverywhereSamples/sleeps\\("
      let child = try await run(
        ["--orders", "8", "--report", report], filter: filter, exits: 1)
      let data = try Data(contentsOf: URL(fileURLWithPath: report))
      let tests = try JSONDecoder().decode(Report.self, from: data).tests
      #expect(tests.map(\.result) == ["order-dependent", "passed"])
      let dependent = try #require(tests.first)
      #expect(dependent.orders.passed > 0 && dependent.orders.failed > 0)
      #expect(dependent.orders.passed + dependent.orders.failed == 8)
      let token = try #require(dependent.replay)
      #expect(child.standardOutput.contains("--replay '\(token)'"))
      #expect(tests.last.map { Int($0.virtualSeconds.rounded()) } == 6 * 3600)

      // Only that test runs. One order fails, so it is compared with another one.
      _ = try await run(["--replay", token, "--report", report], filter: filter, exits: 1)
      let again = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(fileURLWithPath: report)))
      #expect(again.tests.map(\.result) == ["order-dependent"])
      #expect(again.tests.map(\.replay) == [token])
    }
  }

  @Test(.enabled(if: isTested)) func sleepsThatEndTogetherDoSoInAnyOrder() async throws {
    let child = try await run(
      ["--orders", "8"], filter: "EverywhereSamples/sleepsEndTogether", exits: 1)
    #expect(child.standardOutput.contains("Order-dependent"), "\(child.standardOutput)")
  }

  /// Runs the command with the samples that match, and checks its exit code: 0, 69 if no sample matches, or 1 if one
  /// fails.
  func run(
    _ options: [String], filter: String, _ environment: [String: String] = [:],
    exits code: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> ChildProcess {
    let child = try await ChildProcess.run(
      ChildProcess.command,
      arguments: options + [
        ChildProcess.testBundle, "--testing-library", "swift-testing", "--filter", filter,
      ], environment: environment.merging(["EVERYWHERE_SAMPLES": "1"]) { $1 })
    #expect(
      child.exitCode == code, "\(child.standardOutput)\(child.standardError)",
      sourceLocation: sourceLocation)
    return child
  }

  /// The shell leaves records under its process id, which the command then has.
  @Test(.enabled(if: isTested)) func recordsOfAnEndedCommandAreNotRead() async throws {
    try await withTemporaryPath { folder in
      let script = """
        stale="$TMPDIR/clocks-everywhere-$$/1"
        mkdir -p "$stale"
        echo '{"process": ["/none"], "folder": "/none"}' > "$stale/1.jsonl"
        echo '{"began": "none"}' >> "$stale/1.jsonl"
        exec "$@"
        """
      let child = try await ChildProcess.run(
        "/bin/sh",
        arguments: [
          "-c", script, "sh", ChildProcess.command, "--orders", "2", ChildProcess.testBundle,
          "--testing-library", "swift-testing", "--filter", "EverywhereSamples/onTheMainActor",
        ], environment: ["EVERYWHERE_SAMPLES": "1", "TMPDIR": folder])
      #expect(child.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
      #expect(
        child.standardOutput.contains("\nclocks-everywhere: 1 test in 2 orders: 1 passed in all"),
        "\(child.standardOutput)")
    }
  }

  /// The orders of both commands draw the same names.
  @Test(.unless(.suitesAreInRealTime), .enabled(if: isTested))
  func eachProcessOfAnOrderHasAFolderForTemporaryFiles() async throws {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for _ in 0..<2 {
        let child = try await run(
          ["--orders", "5"], filter: "EverywhereTemporarySamples", ["TMPDIR": folder])
        let result = "\nclocks-everywhere: 2 tests in 5 orders: 2 passed in all"
        #expect(child.standardOutput.contains(result), "\(child.standardOutput)")
      }
      _ = try await run(["--seed", "2"], filter: "EverywhereTemporarySamples", ["TMPDIR": folder])
      // Those of the two runs first in, first out.
      let left = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(left.count == 8 && left.allSatisfy { $0.hasPrefix("sample-") }, "\(left)")
    }
  }

  @Test(
    .enabled(if: isTested),
    arguments: [
      (["--ordres", "1", "x"], "--ordres is not an option; see --help"),
      (["--orders"], "--orders needs a value"),
      (["--orders", "0", "x"], "--orders needs a number from 1 to 1000000, and not \"0\""),
      (
        ["--orders", "\(Int.max)", "x"],
        "--orders needs a number from 1 to 1000000, and not \"9223372036854775807\""
      ),
      (
        ["--seed=-1", "x"],
        "--seed needs a number from 0 to 18446744073709551615, and not \"-1\""
      ),
      (["--orders=2"], "a command is missing, for example `clocks-everywhere swift test`"),
      ([], "a command is missing, for example `clocks-everywhere swift test`"),
      (
        ["--replay", "Shop.Cart/total()", "x"],
        "--replay needs a token from a report, such as Shop.Cart/total()@17, and not \"Shop.Cart/total()\""
      ),
      (
        ["--orders", "2", "--replay", "a@1", "x"],
        "--replay runs one order: it cannot be used with --orders"
      ),
      (
        ["--seed=2", "--replay", "a@1", "x"],
        "--replay names a seed: it cannot be used with --seed"
      ),
      (["--report", "/nowhere/a.json", "x"], "--report cannot write into /nowhere"),
      (["--report", "/tmp", "x"], "--report needs the name of a file, and /tmp is a folder"),
    ] as [([String], String)])
  func wrongOptionsAreErrors(_ arguments: [String], _ text: String) async throws {
    let child = try await ChildProcess.run(ChildProcess.command, arguments: arguments)
    #expect(child.exitCode == 64)
    #expect(child.standardError == "clocks-everywhere: \(text)\n")
  }

  @Test(.enabled(if: isTested)) func aCommandThatIsNotThereIsAnError() async throws {
    let child = try await ChildProcess.run(ChildProcess.command, arguments: ["./no-such-bundle"])
    #expect(child.exitCode == 127)
    #expect(
      child.standardError
        == "clocks-everywhere: cannot run ./no-such-bundle: No such file or directory\n")
    let help = try await ChildProcess.run(ChildProcess.command, arguments: ["--help"])
    #expect(help.exitCode == 0)
    #expect(help.standardOutput.hasPrefix("usage: clocks-everywhere [options] COMMAND...\n"))
    #expect(help.standardOutput.contains("\nA TEST is a name from a report or a part of it: "))
  }

  @Test(.enabled(if: isTested)) func theReportNamesWhereTestsSleep() async throws {
    let child = try await run([], filter: "EverywhereSamples/sleeps\\(")
    let line = try #require(
      child.standardOutput.lines(containing: "EverywhereSamples.sleeps(_:) at ").first)
    #expect(line.hasPrefix("  6 h 0 min  EverywhereSamples.sleeps(_:) at Samples.swift:"))
    #expect(child.standardOutput.contains("and 6 h 0 min of virtual time"))
    #expect(!child.standardError.contains("clocks-everywhere:"))
  }

  @Test(.enabled(if: isTested)) func aFilterThatMatchesNothingIsReported() async throws {
    let child = try await run([], filter: "there is no such test", exits: 69)
    #expect(
      child.standardError.contains("clocks-everywhere: no test has run in virtual time."),
      "\(child.standardError)")
    let real = try await run(
      ["--real", "Cart", "--only", "Shop"], filter: "onTheMainActorTheTimer")
    #expect(
      real.standardError.lines(containing: "names no test that has run.") == [
        "clocks-everywhere: --real Cart names no test that has run.",
        "clocks-everywhere: --only Shop names no test that has run.",
      ])
  }

  /// What has failed before the process ends is in the report, and the exit code stays that of the suite.
  @Test(.enabled(if: isTested)) func aTestThatEndsItsProcessHasFailed() async throws {
    let child = try await run(
      [], filter: "EverywhereSamples/exits", ["EVERYWHERE_MISBEHAVES": "exit"])
    #expect(child.standardOutput.contains("Failed in real time, too:"))
    #expect(child.standardOutput.contains("this comes before the end"), "\(child.standardOutput)")
    #expect(!child.standardOutput.contains("In real time:"))
  }

  @Test(.enabled(if: isTested)) func aTestInAChildProcessIsNotATestOfTheSuite() async throws {
    let child = try await run(
      [], filter: "startsATestProcess", ["EVERYWHERE_MISBEHAVES": "child"])
    #expect(
      child.standardOutput.contains("clocks-everywhere: 1 test: 1 passed"),
      "\(child.standardOutput)")
  }

  @Test(.enabled(if: isTested)) func theReportSaysWhyATestIsSlow() async throws {
    let child = try await run([], filter: "anotherTaskEndsTheLoop")
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    let title = try #require(lines.firstIndex(of: "Took more than a second of real time:"))
    try #require(lines.count > title + 2, "\(lines)")
    #expect(lines[title + 1].hasSuffix("/anotherTaskEndsTheLoop()"))
    #expect(
      lines[title + 2]
        == "    a task holds its thread and does not suspend, so other tasks run at the same time")
  }

  /// Of two tests that run when their process crashes, only one depends on the order.
  @Test(.enabled(if: isTested)) func aTestDoesNotFailBecauseAnotherOneCrashes() async throws {
    let child = try await run(
      ["--orders", "6"], filter: "endsItsProcess|runsMeanwhile",
      ["EVERYWHERE_MISBEHAVES": "crash"], exits: 1)
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    let replays = lines.filter { $0.contains("Replay: ") }
    #expect(replays.count == 1, "\(lines)")
    #expect(replays.allSatisfy { $0.contains("endsItsProcessInSomeOrders()@") })
    #expect(lines.contains("The process ended while these tests ran:"))
    #expect(
      lines.contains(
        "    does not fail alone in that order: another test may have ended the process"))
  }

  /// Two tests run when their process ends, in each run. Only one of them ends it.
  @Test(.enabled(if: isTested)) func aTestIsNotBlamedForTheEndOfItsProcess() async throws {
    let child = try await run(
      [], filter: "endsItsProcess\\(|runsMeanwhile", ["EVERYWHERE_MISBEHAVES": "end"], exits: 137)
    let lines = child.standardOutput.split(separator: "\n").map(String.init)
    let title = try #require(
      lines.firstIndex(of: "The process ended while these tests ran:"), "\(lines)")
    let suite = "  EverywhereTests.EverywhereSamples"
    let ended = "    The process ended while this test ran."
    #expect(
      lines[(title + 1)...].prefix(3) == [
        "\(suite)/runsMeanwhile()", ended,
        "    does not fail alone in that order: another test may have ended the process",
      ])
    // On a busy machine, the other test may have ended when the process of the repetition in real time ends. Then it is
    // known that this test fails there, too.
    let culprit = try #require(lines.firstIndex(of: "\(suite)/endsItsProcess()"), "\(lines)")
    #expect(lines[(culprit + 1)...].prefix(2) == [ended, "    fails alone, too"])
    #expect(!lines.contains { $0.hasPrefix("Passes in") || $0.contains("--real") }, "\(lines)")
  }

  /// A name with spaces and quotation marks is one word of the command that replays it.
  @Test(.enabled(if: isTested)) func namesAreQuoted() async throws {
    let child = try await run(["--orders", "8"], filter: "prüft", exits: 1)
    let line = try #require(child.standardOutput.lines(containing: "Replay: ").first)
    let command = try #require(line.split(separator: "clocks-everywhere ").last)
    let replay = try await ChildProcess.run(
      "/bin/sh", arguments: ["-c", "'\(ChildProcess.command)' \(command)"],
      environment: ["EVERYWHERE_SAMPLES": "1"])
    #expect(replay.exitCode == 1, "\(command)\n\(replay.standardError)")
    #expect(!replay.standardError.contains("clocks-everywhere:"))
    #expect(replay.standardOutput.contains("Order-dependent: "), "\(replay.standardOutput)")
  }

  /// The process of a test that never ends, however the command ends.
  ///
  /// The test has started another process, whose parent has ended. Only a command that is killed cannot end that one.
  @Test(
    .enabled(if: isTested),
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL].filter { !isIgnored($0) })
  func testProcessesEndWithTheCommand(_ number: CInt) async throws {
    try await withTemporaryPath { folder in
      let orphanFile = "\(folder)-orphan"
      defer { unlink(orphanFile) }
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: ChildProcess.command)
      process.arguments = [
        ChildProcess.testBundle, "--testing-library", "swift-testing", "--filter",
        "EverywhereSamples/hangs",
      ]
      process.environment = ProcessInfo.processInfo.environment.merging(
        [
          "EVERYWHERE_SAMPLES": "1", "EVERYWHERE_MISBEHAVES": "hang", "TMPDIR": folder,
          "EVERYWHERE_ORPHAN": number == SIGKILL ? nil : orphanFile,
        ].compactMapValues { $0 }
      ) { $1 }
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
      let attempts = 5000  // of 20 ms: 100 s
      var child: pid_t?
      var orphan: pid_t?
      let hasOrphan = number != SIGKILL
      for _ in 0..<attempts
      where (child == nil || hasOrphan && orphan == nil) && process.isRunning {
        try await Task.sleep(for: .milliseconds(20))
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
        child = files?.first { $0.hasSuffix(".jsonl") }.flatMap {
          pid_t(URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent)
        }
        orphan = (try? String(contentsOfFile: orphanFile, encoding: .utf8)).flatMap {
          pid_t($0.trimmingCharacters(in: .newlines))
        }
      }
      let test = try #require(child, "the command has ended, or its test has not begun")
      #expect(Self.isRunning(test))
      kill(process.processIdentifier, number)
      for _ in 0..<attempts where process.isRunning {
        try await Task.sleep(for: .milliseconds(20))
      }
      try #require(!process.isRunning, "the command ignores the signal")
      #expect(process.terminationReason == .uncaughtSignal)
      #expect(process.terminationStatus == number)
      // The kernel ends it some time after the command.
      for _ in 0..<attempts where Self.isRunning(test) {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(!Self.isRunning(test))
      if let orphan { #expect(!Self.isRunning(orphan)) }
      #expect((orphan != nil) == hasOrphan)
      if number != SIGKILL {
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      }
    }
  }

  /// Whether this process ignores a signal, for example under `nohup`. Then its children ignore it, too.
  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Whether a process is there, and is not only waited for by its parent.
  private static func isRunning(_ process: pid_t) -> Bool {
    let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    guard let text, let end = text.lastIndex(of: ")") else { return false }
    return text[end...].split(separator: " ").dropFirst().first != "Z"
  }
}
