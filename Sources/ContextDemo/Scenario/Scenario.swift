/// A small program that demonstrates one idea on a clock that the command line selects.
protocol Scenario: Sendable {
  /// The name on the command line.
  static var name: String { get }
  /// One line that says what the scenario shows.
  static var summary: String { get }
  /// The clocks on which the scenario can run; the first is the default.
  static var clocks: [ClockChoice] { get }
  /// The operands and options apart from ``commonParameters``. All of them are optional.
  static var parameters: [Parameter] { get }

  /// Creates a scenario from a command line.
  ///
  /// - Throws: ``UsageError`` if a value is invalid.
  init(_ arguments: Arguments) throws(UsageError)

  /// Runs the scenario. It measures time only with the clock of `demo`, and logs its events in `demo`.
  func run(in demo: DemoEnvironment) async throws
}

extension Scenario {
  static var clocks: [ClockChoice] { [.test, .continuous] }
  static var parameters: [Parameter] { [] }

  /// The options of every scenario.
  static var commonParameters: [Parameter] {
    let names = clocks.map(\.rawValue).joined(separator: ", ")
    return [
      ("--clock CLOCK", "\(names) (default: \(clocks[0].rawValue))"),
      ("--timeline FILE", "record a timeline: FILE.svg is a picture, FILE.json is for Perfetto"),
    ]
  }
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

/// The clock on which a scenario runs.
enum ClockChoice: String, CaseIterable, Sendable {
  /// Virtual time.
  case test
  /// Real time.
  case continuous
  /// No waiting: every sleep returns immediately.
  case immediate
}
