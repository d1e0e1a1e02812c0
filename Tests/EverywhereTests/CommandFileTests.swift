import Foundation
import TestTraits
import Testing

/// The files that the command reads and writes.
extension EverywhereCommandTests {
  /// Runs the command with a shell script that stands for a suite, and that may leave records of tests.
  ///
  /// - Parameter shell: A script that runs the command, which is `"$@"`.
  private func run(
    _ options: [String], script: String, in shell: String = "exec \"$@\"",
    _ environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> ChildProcess {
    let begin = """
      cd "$CLOCKS_EVERYWHERE_RECORDS"
      process='{"process":["/bin/sh","-c","true"],"folder":"/"}'

      """
    let child = try await ChildProcess.run(
      "/bin/sh",
      arguments: ["-c", shell, "sh", ChildProcess.command] + options
        + ["/bin/sh", "-c", begin + script], environment: environment)
    #expect(
      child.exitCode == 0, "\(child.standardOutput)\(child.standardError)",
      sourceLocation: sourceLocation)
    return child
  }

  // MARK: - Records

  /// Of two test cases of a test, one ends. The process ends during the other, and a second process runs another test.
  @Test(.enabled(if: isTested))
  func aTestThatIsCutOffHasEachFailureOnce() async throws {
    let script = #"""
      printf '%s\n' "$process" '{"began":"T.C/a(_:)"}' '{"began":"T.C/a(_:)"}' \
        '{"failed":"T.C/a(_:)","failures":["one"]}' \
        '{"name":"T.C/a(_:)","passed":false,"virtual":true,"failures":["one"]}' \
        '{"failed":"T.C/a(_:)","failures":["two"]}' > 1.jsonl
      printf '%s\n' "$process" '{"began":"T.C/b()"}' \
        '{"name":"T.C/b()","passed":true,"virtual":true}' > 2.jsonl
      """#
    try await withTemporaryPath { path in
      _ = try await run(["--report", path], script: script)
      let report = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(report.tests.map(\.result) == ["failed", "passed"])
      #expect(
        report.tests.map(\.reasons)
          == [["one", "two", "The process ended while this test ran."], []])
    }
  }

  /// The repetition leaves no record.
  @Test(.enabled(if: isTested))
  func theTimesOfARepetitionThatEndsEarlyAreNotCompared() async throws {
    let script = #"""
      printf '%s\n' "$process" '{"began":"T.C/a()"}' \
        '{"name":"T.C/a()","passed":false,"virtual":true,"realSeconds":3}' > 1.jsonl
      """#
    let child = try await run([], script: script)
    #expect(
      child.standardOutput.contains(
        "missing in the repetition in real time, which ended early:\n  T.C/a()"),
      "\(child.standardOutput)")
    #expect(!child.standardOutput.contains("Added up"), "\(child.standardOutput)")
  }

  /// The second process ends before the test begins.
  @Test(.enabled(if: isTested))
  func aTestThatIsMissingInAnOrderHasNotPassedInAll() async throws {
    let script = #"""
      printf '%s\n' "$process" '{"began":"T.C/a()"}' \
        '{"name":"T.C/a()","passed":true,"virtual":true}' > 1.jsonl
      """#
    let child = try await run(["--orders", "2"], script: script)
    #expect(
      child.standardOutput.contains("\nclocks-everywhere: 1 test in 2 orders: 1 passed; "),
      "\(child.standardOutput)")
  }

  /// As of several tests that sleep for the longest duration.
  @Test(.enabled(if: isTested)) func aSumOfLongSleepsEndsNoProcess() async throws {
    let script = #"""
      printf '%s\n' "$process" '{"began":"T.C/a()"}' \
        '{"name":"T.C/a()","passed":true,"virtual":true,"virtualSeconds":1e21}' > 1.jsonl
      """#
    let child = try await run([], script: script)
    #expect(
      child.standardOutput.contains(" of real time, and ∞ of virtual time\n"),
      "\(child.standardOutput)")
  }

  // MARK: - The report

  /// The text of the report is longer than the buffer of the output, which nothing reads.
  @Test(.enabled(if: isTested))
  func theReportIsWrittenAlthoughTheReaderOfTheTextHasEnded() async throws {
    let script = #"""
      printf '%s\n' "$process" '{"began":"T.C/a()"}' > 1.jsonl
      printf '{"name":"T.C/a()","passed":false,"virtual":true,"failures":["%020000d"]}' 0 >> 1.jsonl
      """#
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = "\(folder)/report"
      _ = try await run(
        ["--report", path], script: script, in: "\"$@\" | true", ["TMPDIR": folder])
      let report = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(report.tests.map(\.result) == ["failed"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["report"])
    }
  }

  /// The script and the command write into the same file.
  @Test(.enabled(if: isTested), arguments: [">", ">>"])
  func theReportMayGoToTheOutput(_ redirection: String) async throws {
    let script = #"""
      echo 'from the suite'
      printf '%s\n' "$process" '{"began":"T.C/a()"}' \
        '{"name":"T.C/a()","passed":true,"virtual":true}' > 1.jsonl
      """#
    try await withTemporaryPath { path in
      _ = try await run(
        ["--report", "/dev/stdout"], script: script, in: "exec \"$@\" \(redirection) '\(path)'")
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.hasPrefix("from the suite\n\nclocks-everywhere: 1 test: 1 passed; "), "\(text)")
      let start = try #require(text.range(of: "\n{\n"), "\(text)")
      let report = try JSONDecoder().decode(
        Report.self, from: Data(text[start.lowerBound...].utf8))
      #expect(report.tests.map(\.name) == ["T.C/a()"])
    }
  }

  @Test(.enabled(if: isTested))
  func anEarlierReportIsRemovedThroughALink() async throws {
    try await withTemporaryPath { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let (file, link) = ("\(folder)/file", "\(folder)/link")
      try "earlier".write(toFile: file, atomically: false, encoding: .utf8)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      _ = try await run(["--report", link], script: "test ! -e '\(file)' && test -L '\(link)'")
      let report = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
      #expect(report.tests.isEmpty)
    }
  }

  /// The folder of shared memory contains ordinary files.
  @Test(.enabled(if: isTested && access("/dev/shm", W_OK) == 0))
  func anEarlierReportInSharedMemoryIsRemoved() async throws {
    let path = "/dev/shm/clocks-everywhere-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try "earlier".write(toFile: path, atomically: false, encoding: .utf8)
    _ = try await run(["--report", path], script: "test ! -e '\(path)'")
    let report = try JSONDecoder().decode(
      Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(report.tests.isEmpty)
  }

  /// The folder of `/dev/stdout`, for example, is not writable either. A superuser may write anywhere.
  @Test(.enabled(if: isTested && geteuid() != 0))
  func theFolderOfAReportThatExistsNeedNotBeWritable() async throws {
    try await withTemporaryPath { folder in
      let manager = FileManager.default
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = "\(folder)/report"
      try "earlier".write(toFile: path, atomically: false, encoding: .utf8)
      try manager.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder)
      defer { try? manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder) }
      _ = try await run(["--report", path], script: "test ! -s '\(path)'")
      let report = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(report.tests.isEmpty)
    }
  }

  // MARK: - The library

  @Test(.enabled(if: isTested))
  func theFolderOfTheCommandMayContainSpacesAndColons() async throws {
    try await withTemporaryPath { temporary in
      let folder = "\(temporary)/a b:c"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let command = URL(fileURLWithPath: ChildProcess.command)
      let files = [command.lastPathComponent, "libClocksEverywhere.so"].map {
        command.deletingLastPathComponent().appendingPathComponent($0).path
      }
      // `cp` copies the files. If this process did, a child that another test starts meanwhile would inherit a file
      // that is open for writing, and such a file cannot be run.
      let copy = try await ChildProcess.run("/bin/cp", arguments: files + [folder])
      #expect(copy.exitCode == 0, "\(copy.standardError)")
      let child = try await ChildProcess.run(
        "\(folder)/\(command.lastPathComponent)",
        arguments: ["/bin/sh", "-c", "grep -c libClocksEverywhere.so /proc/self/maps"])
      #expect(child.exitCode == 0, "\(child.standardError)")
      #expect(!child.standardError.contains("LD_PRELOAD"), "\(child.standardError)")

      // A link in the temporary folder does not help if that has a space, too.
      let none = try await ChildProcess.run(
        "\(folder)/\(command.lastPathComponent)", arguments: ["/bin/sh", "-c", "true"],
        environment: ["TMPDIR": folder])
      #expect(none.exitCode == 1)
      #expect(
        none.standardError.contains("Set TMPDIR to a folder without them."),
        "\(none.standardError)")
    }
  }

  @Test(.enabled(if: isTested)) func anErrorOfAFileNamesItAndTheReason() async throws {
    try await withTemporaryPath { path in
      try Data().write(to: URL(fileURLWithPath: path))
      let child = try await ChildProcess.run(
        ChildProcess.command, arguments: ["/bin/sh", "-c", "true"], environment: ["TMPDIR": path])
      #expect(child.exitCode == 70)
      let error = child.standardError
      #expect(error.hasPrefix("clocks-everywhere: cannot use \(path)/"), "\(error)")
      #expect(error.hasSuffix(": Not a directory\n"), "\(error)")
    }
  }

  // MARK: - Files of the suite

  /// The test passes first in, first out. The last process repeats it in an order in which it fails.
  @Test(.enabled(if: isTested)) func otherOrdersLeaveTheFilesOfTheFirst() async throws {
    try await withTemporaryPath { path in
      let child = try await ChildProcess.run(
        ChildProcess.command,
        arguments: [
          "--orders", "8", ChildProcess.testBundle, "--testing-library", "swift-testing",
          "--xunit-output", path, "--filter", "EverywhereSamples/dependsOnTheOrder",
        ], environment: ["EVERYWHERE_SAMPLES": "1"])
      #expect(child.exitCode == 1, "\(child.standardOutput)\(child.standardError)")
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.contains("dependsOnTheOrder()"), "\(text)")
      #expect(!text.contains("<failure"), "\(text)")
    }
  }

  /// In a build for coverage, a process without the variable leaves a file in the folder of the package.
  ///
  /// A process with the name of the first one's file replaces that file.
  @Test(
    .enabled(if: isTested),
    arguments: [
      (name: nil, found: "/dev/null"), (name: "all.profraw", found: "/dev/null"),
      (name: "%t/all.profraw", found: "/dev/null"), (name: "%p.profraw", found: "%p.profraw"),
      (name: "a%m.profraw", found: "a%m.profraw"), (name: "a%4m.profraw", found: "a%4m.profraw"),
    ])
  func otherOrdersWriteNoCoverageOfTheFirst(name: String?, found: String) async throws {
    let script = #"""
      process='{"process":["/bin/sh","-c","echo $LLVM_PROFILE_FILE > $FOUND"],"folder":"/"}'
      printf '%s\n' "$process" '{"began":"T.C/a()"}' \
        '{"name":"T.C/a()","passed":true,"virtual":true}' > 1.jsonl
      """#
    try await withTemporaryPath { path in
      _ = try await run(
        ["--orders", "2"], script: script,
        in: name.map { "LLVM_PROFILE_FILE='\($0)' exec \"$@\"" }
          ?? "unset LLVM_PROFILE_FILE; exec \"$@\"",
        ["FOUND": path])
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(found)\n")
    }
  }
}
