/// What the command line asks for.
enum Command: Sendable {
  /// Run all scenarios on virtual time.
  case all([any Scenario])
  /// Name the scenarios.
  case list
  /// Tell what of a test can be seen on this system.
  case platform
  /// Say which version this is.
  case version
  /// Explain how the program, or one scenario, is used.
  case help((any Scenario.Type)?)
  /// Run one scenario, and leave a picture of it in a file if one is named.
  case play(any Scenario, on: ClockChoice, timeline: String?)

  /// Understands the words that follow the program's name.
  init(_ words: [String]) throws(UsageError) {
    guard let first = words.first else {
      let none = try Arguments([], operands: [], options: [])
      var scenarios: [any Scenario] = []
      for type in allScenarios { scenarios.append(try type.init(none)) }
      self = .all(scenarios)
      return
    }
    let rest = words.dropFirst()
    switch first {
    case "--help", "-h", "help":
      self = .help(nil)
    case "--version":
      _ = try Arguments(rest, operands: [], options: [])
      self = .version
    case "list", "platform":
      guard !Self.asksForHelp(rest) else {
        self = .help(nil)
        return
      }
      _ = try Arguments(rest, operands: [], options: [])
      self = first == "list" ? .list : .platform
    case _ where first.hasPrefix("-"):
      throw UsageError(
        "unknown option '\(first)'\(["--help", "--version"].suggestion(for: first))")
    default:
      guard let scenario = allScenarios.first(where: { $0.name == first }) else {
        let names = allScenarios.map { $0.name } + ["list", "platform", "help"]
        throw UsageError("unknown scenario '\(first)'\(names.suggestion(for: first))")
      }
      self = Self.asksForHelp(rest) ? .help(scenario) : try Self.play(scenario, rest)
    }
  }

  private static func asksForHelp(_ words: ArraySlice<String>) -> Bool {
    words.prefix { $0 != "--" }.contains { ["--help", "-h"].contains($0) }
  }

  private static func play(
    _ type: any Scenario.Type, _ words: ArraySlice<String>
  ) throws(UsageError) -> Command {
    let arguments = try Arguments(
      words, operands: type.operands, options: type.commonOptions + type.options)
    var clock = type.clocks[0]
    if let name = arguments.string("clock") {
      guard let choice = ClockChoice(rawValue: name), type.clocks.contains(choice) else {
        throw UsageError("option '--clock' needs \(type.clockNames), not '\(name)'")
      }
      clock = choice
    }
    let file = arguments.string("timeline")
    if let file {
      guard !file.isEmpty else { throw UsageError("option '--timeline' needs the name of a file") }
      guard clock == .test else {
        throw UsageError("option '--timeline' needs '--clock test': only virtual time is recorded")
      }
    }
    return .play(try type.init(arguments), on: clock, timeline: file)
  }
}

extension Scenario {
  /// For example `test, continuous or immediate`.
  static var clockNames: String {
    let names = clocks.map(\.rawValue)
    return names.dropLast().joined(separator: ", ") + " or \(names[names.count - 1])"
  }

  /// The options that all scenarios have.
  static var commonOptions: [Option] {
    [
      Option(
        name: "clock", value: "CLOCK", help: "\(clockNames) (default: \(clocks[0].rawValue))"),
      Option(
        name: "timeline", value: "FILE",
        help: "draw what happened: FILE.svg for a picture, FILE.json for Perfetto"),
    ]
  }
}
