import Clocks
import Foundation

struct Options: Sendable {
  enum Problem: Error {
    /// The text that `--help` prints.
    case help(String)
    case wrong(String)
  }

  static let help = """
    usage: clocks-everywhere [options] COMMAND...
           clocks-everywhere merge [--output FILE] FOLDER...

    Runs a test suite in virtual time. COMMAND is `swift test` with its options, or a test bundle
    with its arguments. The suite is not changed.

      --orders N      run each test in N orders of its jobs; the first is first in, first out
      --seed S        run each test in the order S; with --orders, the orders after the first are
                      S + 1, S + 2 and so on (by default, S is 1)
      --replay TOKEN  run one test, and no other, in the order of a token from a report
      --report FILE   write the report as JSON, too: the seconds of a test are those of the first
                      order; realSeconds at the end is how long COMMAND took in the first order,
                      without the build
      --real TEST     run a test, a suite or a module in real time; may be repeated
      --only TEST     run nothing else in virtual time; may be repeated

    A TEST is a name from a report or a part of it: 'ShopTests.Cart/total()', Cart/total, Cart or
    ShopTests. A TOKEN is a whole name and a seed: 'ShopTests.Cart/total()@17'.

    Exits with the code of COMMAND; with --orders, with 1 if a test has failed, or a process has
    crashed, in any order; with 64 if an option is wrong or the test of a token is not there; with
    127 if COMMAND cannot be started.
    """

  var orders = 1
  var seed: UInt64?
  /// The test that is run alone, and its order.
  var replay: EverywhereToken?
  var report: String?
  var real: [String] = []
  var only: [String] = []
  var command: [String] = []

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.first, argument.hasPrefix("-") {
      if argument == "--help" || argument == "-h" { throw Problem.help(Self.help) }
      if argument == "--" {
        rest.removeFirst()
        break
      }
      let (option, value) = try Self.popOption(of: &rest, all: Self.all)
      try set(option, to: value)
    }
    command = Array(rest)
    guard !command.isEmpty else {
      throw Problem.wrong("a command is missing, for example `clocks-everywhere swift test`")
    }
    if orders > 1, replay != nil {
      throw Problem.wrong("--replay runs one order: it cannot be used with --orders")
    }
    if seed != nil, replay != nil {
      throw Problem.wrong("--replay names a seed: it cannot be used with --seed")
    }
  }

  private static let all = ["--orders", "--seed", "--replay", "--report", "--real", "--only"]

  /// Removes an option and its value: `--orders 50` or `--orders=50`.
  static func popOption(
    of arguments: inout ArraySlice<String>, all: [String]
  ) throws -> (option: String, value: String) {
    let parts = arguments.removeFirst()
      .split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard all.contains(parts[0]) else {
      throw Problem.wrong("\(parts[0]) is not an option; see --help")
    }
    guard let value = parts.count > 1 ? parts[1] : arguments.popFirst(), !value.isEmpty else {
      throw Problem.wrong("\(parts[0]) needs a value")
    }
    return (parts[0], value)
  }

  private mutating func set(_ option: String, to value: String) throws {
    switch option {
    case "--orders":
      guard let number = Int(value), (1...1_000_000).contains(number) else {
        throw Problem.wrong("--orders needs a number from 1 to 1000000, and not \"\(value)\"")
      }
      orders = number
    case "--seed":
      guard let number = UInt64(value) else {
        throw Problem.wrong("--seed needs a number from 0 to \(UInt64.max), and not \"\(value)\"")
      }
      seed = number
    case "--replay":
      guard let token = EverywhereToken(value) else {
        throw Problem.wrong(
          "--replay needs a token from a report, such as Shop.Cart/total()@17, and not \"\(value)\""
        )
      }
      replay = token
    case "--report":
      let folder = URL(fileURLWithPath: value).deletingLastPathComponent().path
      guard
        [folder, value].contains(where: { FileManager.default.isWritableFile(atPath: $0) })
      else {
        throw Problem.wrong("--report cannot write into \(folder)")
      }
      var isFolder: ObjCBool = false
      guard
        !FileManager.default.fileExists(atPath: value, isDirectory: &isFolder)
          || !isFolder.boolValue
      else { throw Problem.wrong("--report needs the name of a file, and \(value) is a folder") }
      report = value
    case "--real": real.append(value)
    default: only.append(value)
    }
  }

  /// Returns the seed of a test's order in the first run; 0 is first in, first out.
  func firstSeed(of test: String) -> UInt64 {
    guard let replay else { return orders > 1 ? 0 : seed ?? 0 }
    return replay.test == test ? replay.seed : 0
  }

  /// Returns a sentence for each option that names no test of the suite.
  func problems(with tests: [String]) -> [String] {
    let patterns = real.map { ("--real", $0) } + only.map { ("--only", $0) }
    return patterns.compactMap { option, pattern in
      tests.contains { EverywhereSettings.names(pattern, $0) }
        ? nil : "\(option) \(pattern) names no test that has run."
    }
  }
}
