import Clocks
import ClocksSupport
import Foundation

/// Runs a scenario, or all of them, as the command line asks.
@main
struct ContextDemo {
  static func main() async {
    let (start, ready) = AsyncStream<Void>.makeStream()
    let work = Task {
      for await _ in start {}
      return await run(Array(CommandLine.arguments.dropFirst()))
    }
    let interrupt = Interrupt(whenReady: { ready.finish() }, action: { work.cancel() })
    let code = await work.value
    withExtendedLifetime(interrupt) {}
    exit(code.rawValue)
  }

  /// Does what the command line asks for; ends early if the task is cancelled.
  private static func run(_ words: [String]) async -> ExitCode {
    do {
      switch try Command(words) {
      case .all(let scenarios): return await run(scenarios)
      case .list: Output.standard.write(Usage.list(width: Output.standard.width))
      case .platform: Output.standard.write("\(PlatformReport())")
      case .version: Output.standard.write("ContextDemo \(Usage.version)")
      case .help(let scenario):
        Output.standard.write(Usage.text(for: scenario, width: Output.standard.width))
      case .play(let scenario, on: let clock, timeline: let file):
        return await run(scenario, on: clock, timeline: file).code
      }
      return .success
    } catch {
      Output.error.write(wrapping: "ContextDemo: \(error)")
      let scenario = allScenarios.first { $0.name == words.first }
      Output.error.write(Usage.text(for: scenario, width: Output.error.width))
      return .usage
    }
  }

  /// Runs one scenario, and says how it ended and how much of its clock's time passed.
  ///
  /// - Parameter file: Where a picture of it goes, if one is wanted.
  private static func run(
    _ scenario: any Scenario, on clock: ClockChoice, timeline file: String? = nil
  ) async -> (code: ExitCode, elapsed: Duration) {
    let printer = TimelinePrinter(output: .standard)
    printer.heading(type(of: scenario))
    let outcome = await Performance.run(
      scenario, on: clock, isRecorded: file != nil, show: printer.entry)
    printer.end(outcome, on: clock)
    if let file, let recorded = outcome.recorded {
      do throws(TextFile.WriteError) {
        let isJSON = file.lowercased().hasSuffix(".json")
        try TextFile.write(isJSON ? recorded.traceEvents : recorded.svg, to: file)
      } catch {
        Output.error.write(wrapping: "ContextDemo: \(error)")
        return (.cannotWrite, outcome.elapsed)
      }
    }
    if Task.isCancelled {
      Output.error.write("ContextDemo: interrupted")
      return (.interrupted, outcome.elapsed)
    }
    if let error = outcome.error {
      Output.error.write(wrapping: "ContextDemo: \(error)")
      return (.failure, outcome.elapsed)
    }
    return (.success, outcome.elapsed)
  }

  /// Runs `scenarios` one after another on virtual time, until one fails.
  private static func run(_ scenarios: [any Scenario]) async -> ExitCode {
    let begin = RealTime.now
    var virtual = Duration.zero
    for scenario in scenarios {
      let (code, elapsed) = await run(scenario, on: .test)
      guard code == .success else { return code }
      virtual += elapsed
      Output.standard.write("")
    }
    let real = RealTime.now - begin
    Output.standard.write(
      wrapping: """
        In all: \(virtual.inSeconds) of virtual time in \(real.inShort) of real time.
        To see one live: swift run ContextDemo countdown "Hello" --clock continuous
        """)
    return .success
  }
}
