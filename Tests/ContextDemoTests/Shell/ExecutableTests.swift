import Foundation
import Testing

@testable import ContextDemo

/// The executable from outside, in processes of its own; one after another, out of consideration.
@Suite(.serialized) struct ExecutableTests {
  private func run(_ arguments: String...) async throws -> DemoProcess.Ended {
    try await DemoProcess(arguments).end()
  }

  @Test func withoutArgumentsItRunsEverything() async throws {
    let ended = try await run()
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    for scenario in allScenarios {
      #expect(ended.output.contains("\(scenario.name): \(scenario.summary)"))
    }
    #expect(
      ended.output.last
        == #"To see one live: swift run ContextDemo countdown "Hello" --clock continuous"#)
    #expect(!ended.output.joined().contains("\u{1B}"), "there are colours in a pipe")
  }

  @Test func itNamesTheScenarios() async throws {
    let ended = try await run("list")
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    #expect(ended.output == Usage.list().split(separator: "\n").map(String.init))
    #expect(ended.output.count == allScenarios.count)
  }

  @Test(arguments: [
    ("scan", "executors (2 of 2)", "seen"), ("hook", "enqueueHook (1 of 2)", "not seen"),
  ])
  func itTellsWhatIsSeenHere(
    _ strategy: String, _ capability: String, _ seen: String
  ) async throws {
    let ended = try await DemoProcess(["platform"], environment: ["CLOCKS_DOOR": strategy]).end()
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    #expect(ended.output.count == 10)
    #expect(ended.output[0].hasPrefix("system      "))
    #expect(ended.output[1].hasPrefix("built by    Swift "))
    #if compiler(>=6.3)
      #expect(ended.output[2] == "runtime     Swift 6.3 or later")
    #else
      #expect(ended.output[2] == "runtime     Swift 6.2")
    #endif
    #expect(
      ended.output.dropFirst(3) == [
        "strategy    \(strategy)", "capability  \(capability)", "tasks       seen",
        "main actor  \(seen)", "Task.yield  \(seen)", "sleeps      \(seen)",
        "queues      \(seen)",
      ])
  }

  @Test func theCountdownOnVirtualTime() async throws {
    let ended = try await run("countdown", "Hello", "--from", "5", "--clock", "test")
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    #expect(
      ended.output.dropLast() == [
        "countdown: \(CountdownScenario.summary)",
        "    0.000 s  chat        5...",
        "    1.000 s  chat        4...",
        "    2.000 s  chat        3...",
        "    3.000 s  chat        2...",
        "    4.000 s  chat        1...",
        "    5.000 s  chat        Hello",
      ])
    let last = try #require(ended.output.last)
    #expect(last.hasPrefix("  5.000 s of virtual time in ") && last.hasSuffix(" of real time"))
  }

  @Test func theCountdownThatTakesTooLong() async throws {
    let ended = try await run("countdown", "--timeout", "2.5")
    #expect(ended.exitCode == 1)
    #expect(ended.output.count == 5)
    #expect(ended.output[3] == "    2.000 s  chat        1...")
    #expect(ended.output[4].hasPrefix("  2.500 s of virtual time in "))
    #expect(
      ended.error == [
        "ContextDemo: The operation timed out. The time allowed was 2.5 seconds. It was: countdown."
      ])
  }

  @Test func theCountdownInNoTime() async throws {
    let ended = try await run(
      "countdown", "Hello", "--from", "5", "--clock", "immediate", "--timeout", "10")
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    #expect(ended.output.count == 8)
    #expect(ended.output[6] == "    5.000 s  chat        Hello")
    #expect(ended.output[7].hasPrefix("  5.000 s of sleep skipped in "))
  }

  @Test func theCountdownInNoTimeThatWouldTakeTooLong() async throws {
    let ended = try await run("countdown", "--clock", "immediate", "--timeout", "2.5")
    #expect(ended.exitCode == 1)
    #expect(ended.output.count == 5)
    #expect(ended.output[3] == "    2.000 s  chat        1...")
    #expect(ended.output[4].hasPrefix("  2.500 s of sleep skipped in "))
    #expect(
      ended.error == [
        "ContextDemo: The operation timed out. The time allowed was 2.5 seconds. It was: countdown."
      ])
  }

  @Test func itSaysWhichVersionItIs() async throws {
    let ended = try await run("--version")
    #expect(ended.exitCode == 0)
    #expect(ended.output == ["ContextDemo \(Usage.version)"])
  }

  #if os(Linux)
    @Test(arguments: [["list"], ["--help"], ["countdown"], []])
    func aFullDiskIsAnError(_ arguments: [String]) async throws {
      let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
      let ended = try await DemoProcess(arguments, writingTo: full).end()
      #expect(ended.exitCode == 74)
      #expect(ended.error == ["ContextDemo: cannot write: No space left on device"])
    }
  #endif

  @Test(arguments: [["list"], ["countdown", "--help"], [], ["countdown", "--timeout", "1"]])
  func linesFitTheTerminal(_ arguments: [String]) async throws {
    let ended = try await DemoProcess(arguments, environment: ["COLUMNS": "50"]).end()
    #expect(ended.output.count > 3)
    #expect(ended.output.filter { $0.count > 50 } == [])
    #expect(ended.error.filter { $0.count > 50 } == [])
    let wide = try await DemoProcess(arguments).end()
    // Nothing is lost. The real time that it took is another each time.
    let words = { (lines: [String]) in
      lines.flatMap { $0.split(separator: " ") }
        .filter { Double($0) == nil && !["s", "ms"].contains($0) }
    }
    #expect(words(ended.output) == words(wide.output))
    #expect(words(ended.error) == words(wide.error))
  }

  @Test func theCountdownOnRealTime() async throws {
    let ended = try await run("countdown", "--from=1", "--clock=continuous")
    #expect(ended.exitCode == 0)
    #expect(ended.output.count == 4)
    #expect(ended.output[1].hasSuffix("s  chat        1..."))
    #expect(ended.output[2].hasSuffix("s  chat        Hello"))
    #expect(ended.output[3].hasSuffix(" of real time"))
  }

  @Test(arguments: [
    ["--help"], ["-h"], ["help"], ["list", "--help"], ["countdown", "--help"], ["countdown", "-h"],
    ["countdown", "Hello", "--from", "x", "--help"],
  ])
  func itExplainsItself(_ arguments: [String]) async throws {
    let ended = try await DemoProcess(arguments).end()
    #expect(ended.exitCode == 0)
    #expect(ended.error == [])
    #expect(ended.output.first?.hasPrefix("usage: ContextDemo ") == true)
  }

  @Test(arguments: [
    (["nonsense"], "unknown scenario 'nonsense'"),
    (["cuontdown"], "unknown scenario 'cuontdown'; did you mean 'countdown'?"),
    (["--verson"], "unknown option '--verson'; did you mean '--version'?"),
    (["--version", "2"], "unexpected argument '2'"),
    (["countdown", "--form", "2"], "unknown option '--form'; did you mean '--from'?"),
    (["--clock", "test"], "unknown option '--clock'"),
    (["list", "all"], "unexpected argument 'all'"),
    (["countdown", ""], "the message is empty: there is nothing to count down to"),
    (["countdown", "a", "b"], "unexpected argument 'b'"),
    (["countdown", "--to", "3"], "unknown option '--to'"),
    (["countdown", "--from"], "option '--from' needs a value"),
    (
      ["countdown", "--from", "0"],
      "option '--from' needs a whole number from 1 to 3600, not '0'"
    ),
    (
      ["countdown", "--clock", "sand"],
      "option '--clock' needs test, continuous or immediate, not 'sand'"
    ),
    (
      ["countdown", "--timeout", "0"],
      "option '--timeout' needs a number of seconds above 0 and up to 86400, not '0'"
    ),
  ])
  func badArgumentsGetOneClearLineAndTheUsage(
    _ arguments: [String], _ message: String
  ) async throws {
    let ended = try await DemoProcess(arguments).end()
    #expect(ended.exitCode == 64)
    #expect(ended.output == [])
    #expect(ended.error.first == "ContextDemo: \(message)")
    #expect(ended.error.dropFirst().first?.hasPrefix("usage: ContextDemo ") == true)
  }

  @Test(arguments: allScenarios.map { $0.name })
  func everyScenarioExplainsItselfAndRefusesNonsense(_ name: String) async throws {
    let help = try await run(name, "--help")
    #expect(help.exitCode == 0)
    #expect(help.error == [])
    #expect(help.output.first?.hasPrefix("usage: ContextDemo \(name) ") == true)

    let nonsense = try await run(name, "--nonsense")
    #expect(nonsense.exitCode == 64)
    #expect(nonsense.output == [])
    #expect(nonsense.error.first == "ContextDemo: unknown option '--nonsense'")
    #expect(nonsense.error.dropFirst() == help.output[...])
  }

  /// Tasks run one at a time, in the same order in every process.
  @Test(arguments: allScenarios.map { $0.name })
  func twoRunsOnVirtualTimeAreTheSame(_ name: String) async throws {
    let (first, second) = (try await run(name), try await run(name, "--clock", "test"))
    #expect(first.exitCode == 0)
    #expect(first.error == [])
    #expect(first.output.dropLast() == second.output.dropLast())
  }

  @Test(arguments: [
    (["countdown", "--from", "3600"], "3600..."),
    (["timeout-service", "--work", "3600", "--timeout", "7200"], "starts"),
    (["contexts"], "starts a timer in each"),
    (["images", "--stall", "3600"], "halts"),
    (["music-search", "--response", "3600"], "asks"),
  ])
  func ctrlCEndsALiveRun(_ arguments: [String], _ text: String) async throws {
    let process = try DemoProcess(arguments + ["--clock", "continuous"])
    var output = Data()
    for await chunk in process.output {
      output += chunk
      if String(decoding: output, as: UTF8.self).contains(text) { break }
    }
    process.interrupt()
    let ended = await process.end(after: output)
    #expect(!ended.hasCrashed)
    #expect(ended.exitCode == 130)
    #expect(ended.error == ["ContextDemo: interrupted"])
    #expect(ended.output.last?.hasSuffix(" of real time") == true)
  }
}
