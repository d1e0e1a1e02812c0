import Clocks
import ClocksSupport
import Foundation

/// Lists the scenarios and runs one or all of them.
///
/// Exit codes: 0 for success, 1 if a scenario fails, 64 (`EX_USAGE`) for a wrong command line, and
/// 74 (`EX_IOERR`) for output that cannot be written.
@main
struct ContextDemo {
  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      try await run(words)
    } catch {
      Output.write("ContextDemo: \(error)", to: STDERR_FILENO)
      switch error {
      case is UsageError:
        Output.write(Usage.text(for: words.first.flatMap(scenario)), to: STDERR_FILENO)
        exit(EX_USAGE)
      case is TextFile.WriteError: exit(EX_IOERR)
      default: exit(EXIT_FAILURE)
      }
    }
  }

  private static func scenario(named name: String) -> (any Scenario.Type)? {
    allScenarios.first { $0.name == name }
  }

  /// Executes a command line without the program's name.
  private static func run(_ words: [String]) async throws {
    guard let command = words.first else { return try await runAll() }
    if command == "help" || words.contains("--help") || words.contains("-h") {
      return Output.write(Usage.text(for: scenario(named: command)))
    }
    let rest = words.dropFirst()
    if let type = scenario(named: command) {
      let arguments = try Arguments(rest, parameters: type.parameters + type.commonParameters)
      let clock = try arguments.choice("--clock", of: type.clocks)
      let file = try arguments.path("--timeline")
      if file != nil, clock != .test {
        throw UsageError("option '--timeline' needs '--clock test': only virtual time is recorded")
      }
      _ = try await run(type.init(arguments), on: clock, timeline: file)
      return
    }
    let text: String
    switch command {
    case "list": text = Usage.list
    case "platform": text = PlatformReport.text()
    case "--version": text = "ContextDemo \(Usage.version)"
    default:
      throw UsageError("unknown \(command.hasPrefix("-") ? "option" : "scenario") '\(command)'")
    }
    _ = try Arguments(rest, parameters: [])
    Output.write(text)
  }

  /// Runs all scenarios in virtual time until one fails.
  private static func runAll() async throws {
    var (elapsed, real) = (Duration.zero, Duration.zero)
    for type in allScenarios {
      let outcome = try await run(type.init(Arguments([], parameters: [])), on: .test)
      elapsed += outcome.elapsed
      real += outcome.real
      Output.write("")
    }
    Output.write(
      """
      In all: \(elapsed.inSeconds) of virtual time in \(real.inSeconds) of real time.
      To see one live: swift run ContextDemo countdown "Hello" --clock continuous
      """)
  }

  /// Runs one scenario and prints its events as they occur.
  ///
  /// - Parameter file: The file for the recorded timeline: JSON if its name ends in `.json`,
  ///   otherwise SVG.
  private static func run(
    _ scenario: any Scenario, on clock: ClockChoice, timeline file: String? = nil
  ) async throws -> ScenarioRun.Outcome {
    let type = type(of: scenario)
    Output.write("\(type.name): \(type.summary)")
    let outcome = await ScenarioRun.run(scenario, on: clock, isRecorded: file != nil) {
      Output.write("\($0)")
    }
    Output.write("  \(outcome.summary)")
    if let file, let recorded = outcome.recorded {
      let isJSON = file.lowercased().hasSuffix(".json")
      try TextFile.write(isJSON ? recorded.traceEvents : recorded.svg, to: file)
    }
    if let error = outcome.error { throw error }
    return outcome
  }
}
