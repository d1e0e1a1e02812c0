/// The texts that say how the program is used.
enum Usage {
  private static let program = "ContextDemo"
  /// The version, which is the package's.
  static let version = "0.1.0"

  /// How the program is used, or one of its scenarios.
  ///
  /// - Parameter width: How many characters fit into a line.
  static func text(
    for scenario: (any Scenario.Type)? = nil, width: Int? = nil
  ) -> String {
    guard let scenario else { return overview(width: width) }
    let operands = scenario.operands.map { " [\($0.name)]" }.joined()
    let options = scenario.commonOptions + scenario.options
    let lines =
      scenario.operands.map { ($0.name, $0.help) }
      + options.map { ("--\($0.name) \($0.value)", $0.help) }
      + [("-h, --help", "show this text")]
    return """
      \("usage: \(program) \(scenario.name)\(operands) [options]".wrapped(to: width, indent: 7))

      \(scenario.summary.wrapped(to: width))

      \(table(lines, width: width))
      """
  }

  /// The names of the scenarios, and what each shows.
  ///
  /// - Parameter width: How many characters fit into a line.
  static func list(width: Int? = nil) -> String {
    table(allScenarios.map { ($0.name, $0.summary) }, width: width)
  }

  private static func overview(width: Int?) -> String {
    """
    usage: \(program)                    run all scenarios on virtual time
           \(program) list               name the scenarios
           \(program) platform           tell what a test clock sees on this system
           \(program) NAME [options]     run one; --help shows its options
           \(program) --version          name the version

    \(list(width: width))
    """
  }

  private static func table(_ rows: [(String, String)], width: Int?) -> String {
    let column = rows.map(\.0.count).max() ?? 0
    return
      rows.map {
        "  \($0.0.padded(to: column, from: .trailing))  \($0.1)"
          .wrapped(to: width, indent: column + 4)
      }
      .joined(separator: "\n")
  }
}
