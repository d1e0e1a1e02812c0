import Foundation
import TestTraits
import Testing

@testable import ContextDemo

/// Runs the executable in child processes, one at a time to limit the load.
@Suite(.serialized) struct ExecutableTests {
  private func run(_ arguments: String...) async throws -> ChildProcess {
    try await .demo(arguments)
  }

  // MARK: - Commands

  @Test func runsAllScenariosWithoutArguments() async throws {
    let result = try await run()
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    for scenario in allScenarios {
      #expect(result.output.contains("\(scenario.name): \(scenario.summary)"))
    }
    #expect(
      result.output.last
        == #"To see one live: swift run ContextDemo countdown "Hello" --clock continuous"#)
  }

  @Test func listsTheScenarios() async throws {
    let result = try await run("list")
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    #expect(result.output == Usage.list.split(separator: "\n").map(String.init))
    #expect(result.output.count == allScenarios.count)
  }

  @Test(arguments: [
    ("scan", "executors (2 of 2)", "seen", "nothing"),
    (
      "hook", "enqueueHook (1 of 2)", "not seen",
      "the main actor, Task.yield, un-injected sleeps, work on dispatch queues"
    ),
  ])
  func reportsThePlatform(
    _ strategy: String, _ capability: String, _ seen: String, _ missing: String
  ) async throws {
    let result = try await ChildProcess.demo(["platform"], environment: ["CLOCKS_DOOR": strategy])
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    #expect(result.output.count == 11)
    #expect(result.output[0].hasPrefix("system      "))
    #expect(result.output[1].hasPrefix("built by    Swift "))
    #if compiler(>=6.3)
      #expect(result.output[2] == "runtime     Swift 6.3 or later")
    #else
      #expect(result.output[2] == "runtime     Swift 6.2")
    #endif
    #expect(
      result.output.dropFirst(3) == [
        "strategy    \(strategy)", "capability  \(capability)", "tasks       seen",
        "main actor  \(seen)", "Task.yield  \(seen)", "sleeps      \(seen)",
        "queues      \(seen)", "not seen    \(missing)",
      ])
  }

  @Test func printsItsVersion() async throws {
    let result = try await run("--version")
    #expect(result.exitCode == 0)
    #expect(result.output == ["ContextDemo \(Usage.version)"])
  }

  @Test(arguments: [
    ["--help"], ["-h"], ["help"], ["list", "--help"], ["countdown", "--help"], ["countdown", "-h"],
    ["countdown", "Hello", "--from", "x", "--help"],
  ])
  func printsItsUsage(_ arguments: [String]) async throws {
    let result = try await ChildProcess.demo(arguments)
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    #expect(result.output.first?.hasPrefix("usage: ContextDemo ") == true)
  }

  // MARK: - Clocks

  @Test func countdownInVirtualTime() async throws {
    let result = try await run("countdown", "Hello", "--from", "5", "--clock", "test")
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    #expect(
      result.output.dropLast() == [
        "countdown: \(CountdownScenario.summary)",
        "    0.000 s  chat        5...",
        "    1.000 s  chat        4...",
        "    2.000 s  chat        3...",
        "    3.000 s  chat        2...",
        "    4.000 s  chat        1...",
        "    5.000 s  chat        Hello",
      ])
    let last = try #require(result.output.last)
    #expect(last.hasPrefix("  5.000 s of virtual time in ") && last.hasSuffix(" of real time"))
  }

  @Test func countdownInRealTime() async throws {
    let result = try await run("countdown", "--from=1", "--clock=continuous")
    #expect(result.exitCode == 0)
    #expect(result.output.count == 4)
    #expect(result.output[1].hasSuffix("s  chat        1..."))
    #expect(result.output[2].hasSuffix("s  chat        Hello"))
    #expect(result.output[3].hasSuffix(" of real time"))
  }

  @Test func countdownOnAnImmediateClock() async throws {
    let result = try await run(
      "countdown", "Hello", "--from", "5", "--clock", "immediate", "--timeout", "10")
    #expect(result.exitCode == 0)
    #expect(result.error == [])
    #expect(result.output.count == 8)
    #expect(result.output[6] == "    5.000 s  chat        Hello")
    #expect(result.output[7].hasPrefix("  5.000 s of sleep skipped in "))
  }

  @Test(arguments: [("test", "of virtual time"), ("immediate", "of sleep skipped")])
  func countdownTimesOut(_ clock: String, _ summary: String) async throws {
    let result = try await run("countdown", "--timeout", "2.5", "--clock", clock)
    #expect(result.exitCode == 1)
    #expect(result.output.count == 5)
    #expect(result.output[3] == "    2.000 s  chat        1...")
    #expect(result.output[4].hasPrefix("  2.500 s \(summary) in "))
    #expect(
      result.error == [
        "ContextDemo: The operation timed out. The time allowed was 2.5 seconds. It was: countdown."
      ])
  }

  @Test(arguments: ["test", "immediate"])
  func aCountdownThatEndsAtItsTimeoutTimesOut(_ clock: String) async throws {
    let result = try await run("countdown", "--timeout", "3", "--clock", clock)
    #expect(result.exitCode == 1)
    #expect(result.output.count == 5)
    #expect(
      result.error == [
        "ContextDemo: The operation timed out. The time allowed was 3.0 seconds. It was: countdown."
      ])
  }

  /// In virtual time, tasks run one at a time and in the same order in every process.
  @Test(arguments: allScenarios.map { $0.name })
  func outputIsTheSameInEveryRun(_ name: String) async throws {
    let (first, second) = (try await run(name), try await run(name, "--clock", "test"))
    #expect(first.exitCode == 0 && second.exitCode == 0)
    #expect(first.error == [])
    #expect(first.output.dropLast() == second.output.dropLast())
  }

  // MARK: - Errors

  @Test(arguments: [
    (["nonsense"], "unknown scenario 'nonsense'"),
    (["--clock", "test"], "unknown option '--clock'"),
    (["--version", "2"], "unexpected argument '2'"),
    (["list", "all"], "unexpected argument 'all'"),
    (["countdown", ""], "the message is empty: there is nothing to count down to"),
    (["countdown", "a", "b"], "unexpected argument 'b'"),
    (["countdown", "--to", "3"], "unknown option '--to'"),
    (["countdown", "--to=3"], "unknown option '--to'"),
    (["countdown", "-x"], "unknown option '-x'"),
    (["countdown", "--from"], "option '--from' needs a value"),
    (["countdown", "--from", "1", "--from=2"], "option '--from' is given twice"),
    (
      ["countdown", "--from", "0"],
      "option '--from' needs a whole number from 1 to 3600, not '0'"
    ),
    (
      ["countdown", "--clock", "sand"],
      "option '--clock' needs one of 'test', 'continuous', 'immediate', not 'sand'"
    ),
    (
      ["countdown", "--timeout", "0"],
      "option '--timeout' needs a number of seconds above 0 and up to 86400, not '0'"
    ),
    (["countdown", "--timeline"], "option '--timeline' needs a value"),
    (
      ["countdown", "--timeline="],
      "option '--timeline' needs the path of a file or folder, not ''"
    ),
    (
      ["countdown", "--timeline", "x.svg", "--clock", "continuous"],
      "option '--timeline' needs '--clock test': only virtual time is recorded"
    ),
    (
      ["countdown", "--timeline=x.svg", "--clock", "immediate"],
      "option '--timeline' needs '--clock test': only virtual time is recorded"
    ),
  ])
  func wrongArgumentsAreNamed(_ arguments: [String], _ message: String) async throws {
    let result = try await ChildProcess.demo(arguments)
    #expect(result.exitCode == 64)
    #expect(result.output == [])
    #expect(result.error.first == "ContextDemo: \(message)")
    #expect(result.error.dropFirst().first?.hasPrefix("usage: ContextDemo ") == true)
  }

  @Test(arguments: allScenarios.map { $0.name })
  func usageOfAScenarioIsPrintedOnRequestAndAfterAnError(_ name: String) async throws {
    let help = try await run(name, "--help")
    #expect(help.exitCode == 0)
    #expect(help.error == [])
    #expect(help.output.first?.hasPrefix("usage: ContextDemo \(name) ") == true)

    let wrong = try await run(name, "--nonsense")
    #expect(wrong.exitCode == 64)
    #expect(wrong.output == [])
    #expect(wrong.error.first == "ContextDemo: unknown option '--nonsense'")
    #expect(wrong.error.dropFirst() == help.output[...])
  }

  #if os(Linux)
    @Test(arguments: [["list"], ["--help"], ["countdown"], []])
    func fullDiskIsAnError(_ arguments: [String]) async throws {
      let result = try await ChildProcess.demo(arguments, script: #""$0" "$@" >/dev/full"#)
      #expect(result.exitCode == 74)
      #expect(result.error == ["ContextDemo: No space left on device"])
    }
  #endif

  // MARK: - Recorded timelines

  private let folder = TemporaryFolder()
  private let untraced = ["CLOCKS_TRACE": ""]

  private func temporaryFile(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    return folder.url.appendingPathComponent(name).path
  }

  @Test(arguments: allScenarios.map { $0.name })
  func recordsATimelineOfEveryScenario(_ name: String) async throws {
    let file = try temporaryFile("picture.svg")
    let recorded = try await ChildProcess.demo([name, "--timeline", file], environment: untraced)
    #expect(recorded.exitCode == 0)
    #expect(recorded.error == [])
    // Recording does not change the output.
    let plain = try await ChildProcess.demo([name])
    #expect(recorded.output.dropLast() == plain.output.dropLast())
    let svg = try String(contentsOfFile: file, encoding: .utf8)
    #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
    #expect(svg.contains("<title>ContextDemo \(name)</title>"))
    #expect(svg.contains(">test</text>") && svg.contains(">printer</text>"))
  }

  @Test func recordsTraceEventsAsJSON() async throws {
    let file = try temporaryFile("events.json")
    let result = try await ChildProcess.demo(["countdown", "--timeline=\(file)"])
    #expect(result.exitCode == 0)
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    let parsed = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let events = try #require(parsed["traceEvents"] as? [[String: Any]])
    let marks = events.filter { $0["cat"] as? String == "mark" }.map { $0["name"] as? String }
    #expect(marks == ["chat: 3...", "chat: 2...", "chat: 1...", "chat: Hello"])
    let times = events.filter { $0["cat"] as? String == "mark" }.map { $0["ts"] as? Double }
    #expect(times == [0, 1_000_000, 2_000_000, 3_000_000])
  }

  @Test func recordsATimelineOfAFailure() async throws {
    let file = try temporaryFile("picture.svg")
    let result = try await ChildProcess.demo(["countdown", "--timeout", "2.5", "--timeline", file])
    #expect(result.exitCode == 1)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("2.5 s of virtual time"))
  }

  @Test func timelineFileThatCannotBeWrittenIsAnError() async throws {
    let missing = try await ChildProcess.demo(["countdown", "--timeline", "/no/such/folder/x.svg"])
    #expect(missing.exitCode == 74)
    #expect(
      missing.error == [
        "ContextDemo: cannot write /no/such/folder/x.svg: No such file or directory"
      ])
    #if os(Linux)
      let full = try await ChildProcess.demo(["countdown", "--timeline", "/dev/full"])
      #expect(full.exitCode == 74)
      #expect(full.error == ["ContextDemo: cannot write /dev/full: No space left on device"])
    #endif
  }

  // Debug builds only: the optimizer removes some hops between actors.
  #if os(Linux) && DEBUG
    @Test(arguments: [("music-search", 5), ("timeout-service", 1)])
    func picturesInDocsAreUpToDate(_ name: String, attempts: Int) async throws {
      let file = try temporaryFile("picture.svg")
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      let picture = root.appendingPathComponent("Docs/Pictures/timeline-\(name).svg")
      // `URLSession` answers on a thread of its own. If the answer comes before the task awaits it, the task is not
      // suspended, and the recording has three events fewer: one job. So the demo may draw that picture again.
      var isSame = false
      for _ in 0..<attempts where !isSame {
        let demo = try await ChildProcess.demo([name, "--timeline", file], environment: untraced)
        #expect(demo.exitCode == 0)
        isSame =
          try String(contentsOf: picture, encoding: .utf8)
          == String(contentsOfFile: file, encoding: .utf8)
      }
      #expect(isSame, "run Scripts/pictures to update it")
    }
  #endif
}
