enum Usage {
  static let version = "0.1.0"

  static var list: String { table(allScenarios.map { ($0.name, $0.summary) }) }

  /// Returns the help text of a scenario, or of the program if `scenario` is `nil`.
  static func text(for scenario: (any Scenario.Type)?) -> String {
    guard let scenario else {
      return """
        usage: ContextDemo                    run all scenarios in virtual time
               ContextDemo list               list the scenarios
               ContextDemo platform           report what a test clock can observe on this system
               ContextDemo NAME [options]     run one scenario; --help shows its options
               ContextDemo --version          print the version

        \(list)
        """
    }
    let operands = scenario.parameters.map(\.name).filter { !$0.hasPrefix("--") }
    return """
      usage: ContextDemo \(scenario.name)\(operands.map { " [\($0)]" }.joined()) [options]

      \(scenario.summary)

      \(table(scenario.parameters + scenario.commonParameters + [("-h, --help", "show this text")]))
      """
  }

  private static func table(_ rows: [Parameter]) -> String {
    let width = rows.map(\.name.count).max() ?? 0
    return rows.map { "  \($0.name.padded(to: width))  \($0.help)" }.joined(separator: "\n")
  }
}
