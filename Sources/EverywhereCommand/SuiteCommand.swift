import Foundation

/// The command that runs the suite: `swift test`, or a test bundle, with arguments.
extension Options {
  /// Whether the command is `swift test`, which builds the suite first.
  var isSwiftTest: Bool {
    command.count > 1 && command[0].split(separator: "/").last == "swift" && command[1] == "test"
  }

  /// The command, without the build, and with only one test if a token is replayed.
  var commandOfSuite: [String] {
    var command = replay.map { self.command(for: $0.test) } ?? self.command
    if isSwiftTest, !command.contains("--skip-build") { command.insert("--skip-build", at: 2) }
    return command
  }

  /// Returns the command with a filter for one test, in place of its own filters.
  private func command(for test: String) -> [String] {
    var command = Self.withoutFilters(command, isSwiftTest: isSwiftTest)
    if isSwiftTest {
      // Names of tests of Swift Testing, and no others, end with parameters. The other library would write a warning
      // that no test matches.
      command.append(test.hasSuffix(")") ? "--disable-xctest" : "--disable-swift-testing")
    } else if !Self.runsSwiftTesting(command) {
      return command + [test]
    }
    return command + Self.filter(for: test)
  }

  /// The options of Swift Testing whose file a process replaces.
  private static let replacing = [
    "--xunit-output", "--event-stream-output-path", "--experimental-event-stream-output",
  ]

  /// Returns the arguments of a process that repeats a run, and leaves the files that the first run wrote.
  static func withoutFiles(_ arguments: [String]) -> [String] {
    var kept: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if replacing.contains(argument) {
        _ = rest.popFirst()
      } else if !replacing.contains(where: { argument.hasPrefix("\($0)=") }) {
        kept.append(argument)
      }
    }
    return kept
  }

  /// Returns where a process that repeats a run writes its coverage.
  ///
  /// A name for several processes, with `%p` or `%m`, is kept. Otherwise nothing is written: the process would replace
  /// the file of the first run. A process without a name would leave `default.profraw` in its folder.
  static func coverageFile(inherited name: String?) -> String {
    name.flatMap { $0.contains(/%p|%\d*m/) ? $0 : nil } ?? "/dev/null"
  }

  /// Returns the arguments of a process that runs one test of Swift Testing.
  static func arguments(_ arguments: [String], for test: String) -> [String] {
    withoutFilters(arguments, isSwiftTest: false) + filter(for: test)
  }

  /// For Swift Testing, a test's place in its file comes after the name.
  private static func filter(for test: String) -> [String] {
    ["--filter", "^\(literal(test))(/|$)"]
  }

  /// Whether a test bundle with these arguments runs Swift Testing, which takes filters. XCTest takes names of tests.
  static func runsSwiftTesting(_ arguments: [String]) -> Bool {
    arguments.contains("--testing-library=swift-testing")
      || zip(arguments, arguments.dropFirst()).contains {
        $0 == ("--testing-library", "swift-testing")
      }
  }

  /// Returns the command without its filters.
  ///
  /// With two filters, `swift test` and Swift Testing run the tests that match either of them.
  private static func withoutFilters(_ command: [String], isSwiftTest: Bool) -> [String] {
    var kept: [String] = Array(command.prefix(1))
    var rest = command.dropFirst()
    while let argument = rest.popFirst() {
      if ["--filter", "--specifier", "-s"].contains(argument) {
        _ = rest.popFirst()
      } else if argument == "--testing-library" {
        kept += [argument] + [rest.popFirst()].compactMap(\.self)
      } else if !argument.hasPrefix("--filter="), !argument.hasPrefix("--specifier="),
        // Plain arguments of a test bundle, which name the tests that XCTest is to run, are left out.
        isSwiftTest || argument.hasPrefix("-") || kept.last?.hasPrefix("--") == true
      {
        kept.append(argument)
      }
    }
    return kept
  }

  /// Returns a regular expression that matches only this text.
  private static func literal(_ text: String) -> String {
    text.reduce(into: "") { expression, character in
      if #"\^$.|?*+()[]{}"#.contains(character) { expression.append("\\") }
      expression.append(character)
    }
  }

  /// Returns a word of a command as a shell reads it.
  static func quoted(_ word: String) -> String {
    let plain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./=:,@+".contains($0) }
    return plain && !word.isEmpty
      ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
