/// A small program that shows one idea: it can be run from the command line, on one clock or
/// another.
protocol Scenario: Sendable {
  /// What it is called on the command line.
  static var name: String { get }
  /// What it shows, in a line.
  static var summary: String { get }
  /// The clocks on which it can run; the first is used unless another is asked for.
  static var clocks: [ClockChoice] { get }
  /// Its arguments that are not options, in order. All of them can be left out.
  static var operands: [Operand] { get }
  /// The options that it knows, apart from `--clock`, `--timeline` and `--help`.
  static var options: [Option] { get }

  /// Makes the scenario that the command line asks for.
  ///
  /// - Throws: ``UsageError`` if a value makes no sense.
  init(_ arguments: Arguments) throws(UsageError)

  /// Runs from beginning to end; time passes on the stage's clock only, and everything worth
  /// knowing is logged there.
  func play(on stage: Stage) async throws
}

extension Scenario {
  static var clocks: [ClockChoice] { [.test, .continuous] }
  static var operands: [Operand] { [] }
  static var options: [Option] { [] }
}

/// All scenarios, in the order in which they are listed and run.
let allScenarios: [any Scenario.Type] = [
  CountdownScenario.self,
  TimeoutServiceScenario.self,
  ContextsScenario.self,
  SchedulersScenario.self,
  ImagesScenario.self,
  MusicSearchScenario.self,
  OrdersScenario.self,
]

/// On which clock a scenario runs.
enum ClockChoice: String, CaseIterable, Sendable {
  /// Virtual time, which passes as fast as the work allows.
  case test
  /// Real time.
  case continuous
  /// No time: every sleep returns at once.
  case immediate
}
