/// The texts that say how the program is used.
enum Usage {
  private static let program = "ContextDemo"

  /// How the program is used, or one of its scenarios.
  static func text(for scenario: (any Scenario.Type)? = nil) -> String {
    guard let scenario else { return overview }
    let operands = scenario.operands.map { " [\($0.name)]" }.joined()
    let options = [scenario.clockOption] + scenario.options
    let lines =
      scenario.operands.map { ($0.name, $0.help) }
      + options.map { ("--\($0.name) \($0.value)", $0.help) }
      + [("-h, --help", "show this text")]
    return """
      usage: \(program) \(scenario.name)\(operands) [options]

      \(scenario.summary)

      \(table(lines))
      """
  }

  /// The names of the scenarios, and what each shows.
  static var list: String {
    table(allScenarios.map { ($0.name, $0.summary) })
  }

  private static var overview: String {
    """
    usage: \(program)                    run all scenarios on virtual time
           \(program) list               name the scenarios
           \(program) platform           tell what a test clock sees on this system
           \(program) NAME [options]     run one; --help shows its options

    \(list)
    """
  }

  private static func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "  \($0.0.padded(to: width, from: .trailing))  \($0.1)" }
      .joined(separator: "\n")
  }
}
