import ClocksSupport
import Foundation

/// The searches of all tests, with the reports of all shards.
struct MergedSearches {
  /// The report of one test in one shard.
  fileprivate struct Report {
    var shard: Int
    var shards: Int
    var date: Int
    var isCutOff: Bool
    var searches: [Search]

    /// For each search, its test case.
    var cases: [Case] {
      var counts: [String: Int] = [:]
      return searches.map { search in
        let arguments = search.testCase ?? ""
        let number = counts[arguments, default: 0]
        counts[arguments] = number + 1
        return Case(arguments: arguments, number: number)
      }
    }

    /// Returns the searches by their test cases. Reduced texts distinguish those that some shards lack.
    func searches(common: Set<Case>) -> [(Case, Search)] {
      var counts: [String: Int] = [:]
      return zip(cases, searches).map { testCase, search in
        if common.contains(testCase) { return (testCase, search) }
        let arguments = MergedSearches.reduced(testCase.arguments)
        let number = counts[arguments, default: 0]
        counts[arguments] = number + 1
        return (Case(arguments: arguments, number: number, isReduced: true), search)
      }
    }
  }

  /// A test case, or one call of `withSchedules`, whose searches in all shards belong together.
  fileprivate struct Case: Hashable {
    /// The text of the arguments; empty if there are none, and in files that do not contain them.
    var arguments: String
    /// Distinguishes searches with equal arguments, in the order in which they ended.
    var number: Int
    /// Whether the text lacks the parts that often differ between processes.
    var isReduced = false
  }

  private struct Version: Decodable { var version: Int }

  /// A line of a report: a test has one for each of its test cases.
  private struct Line: Decodable {
    var test: String
    var shard: Int
    var shards: Int
    var date: Int
    var search: Search

    /// Whether the numbers can be those of a search, so that sums of them do not overflow.
    ///
    /// `CLOCKS_SHARD` accepts as many shards.
    var isPlausible: Bool {
      1...1_000_000 ~= shards && 1...shards ~= shard
        && [search.schedules, search.orders, search.classes, search.newClasses]
          .allSatisfy { 0...1_000_000_000_000 ~= $0 }
    }
  }

  fileprivate struct Search: Decodable {
    struct Failure: Decodable {
      var schedule: Int
      var text: String
      var token: String
      /// The arguments that a replay needs besides the token; `nil` if there are none.
      var arguments: String?
    }

    var testCase: String?
    var result: String
    var schedules: Int
    var orders: Int
    var classes: Int
    var newClasses: Int
    var isComplete: Bool
    var seconds: Double
    var orderSketch: [String]
    var classSketch: [String]
    var failure: Failure?
  }

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// The latest report of each shard of each test.
  private var reports: [String: [Int: Report]] = [:]

  var isEmpty: Bool { reports.isEmpty }

  /// Adds a report: a JSON object on each line.
  ///
  /// The last line may be cut off, because the process was killed while it wrote.
  mutating func add(_ data: Data) throws {
    let end = UInt8(ascii: "\n")
    let complete = data.lastIndex(of: end).map { data[...$0] } ?? Data()
    let lines = try complete.split(separator: end).map { text in
      let version = try JSONDecoder().decode(Version.self, from: text).version
      guard version == 2 else {
        throw Problem(
          description: "its format has version \(version), and this command reads version 2")
      }
      let line = try JSONDecoder().decode(Line.self, from: text)
      guard line.isPlausible else { throw Problem(description: "it is damaged") }
      return line
    }
    guard let last = lines.last else { throw Problem(description: "it has no complete line") }
    let known = reports[last.test]?[last.shard]
    guard known.map({ $0.date <= last.date }) ?? true else { return }
    reports[last.test, default: [:]][last.shard] = Report(
      shard: last.shard, shards: last.shards, date: last.date,
      isCutOff: complete.count < data.count, searches: lines.map(\.search))
  }

  struct Test {
    var name: String
    fileprivate var shards: [Report]
    /// For each test case its searches, by the shards that have reported it.
    private var cases: [Case: [Int: Search]] = [:]

    /// Keeps the reports with the number of shards of the latest one; others are of an earlier division.
    ///
    /// Dates are whole seconds. Of divisions with equal dates, the one with more shards is kept.
    fileprivate init(_ name: String, _ reports: [Int: Report]) {
      self.name = name
      let count = reports.values.max { ($0.date, $0.shards) < ($1.date, $1.shards) }?.shards ?? 1
      shards = reports.values.filter { $0.shards == count }.sorted { $0.shard < $1.shard }
      let common = shards.reduce(Set(shards[0].cases)) { $0.intersection($1.cases) }
      for report in shards {
        for (testCase, search) in report.searches(common: common) {
          cases[testCase, default: [:]][report.shard] = search
        }
      }
    }

    var count: Int { shards[0].shards }
    fileprivate var searches: [Search] { shards.flatMap(\.searches) }
    var missing: [Int] {
      let present = Set(shards.map(\.shard))
      return stride(from: 1, through: count, by: 1).filter { !present.contains($0) }
    }
    /// Whether two shards have a test case in common.
    ///
    /// Otherwise the texts of all arguments may differ between processes, and only the numbers of test cases are
    /// compared.
    private var areTextsEqual: Bool { cases.values.contains { $0.count > 1 } }
    /// The shards that lack a test case of another shard: the process may have ended between two of them.
    var incomplete: [Int] {
      let count = areTextsEqual ? cases.count : shards.map(\.searches.count).max() ?? 0
      return shards.filter { $0.searches.count < count }.map(\.shard)
    }
    /// The arguments of the test cases that a shard lacks, as far as they are known.
    func missingCases(in shard: Int) -> [String] {
      guard areTextsEqual else { return [] }
      return cases.values.filter { $0[shard] == nil }.compactMap {
        $0.min { $0.key < $1.key }?.value.testCase
      }
      .sorted()
    }
    var hasFailed: Bool { searches.contains { $0.result != "passed" } }
    var isCutOff: Bool { shards.contains(where: \.isCutOff) }
    /// Whether each shard has reported all test cases.
    var isWhole: Bool { !isCutOff && missing.isEmpty && incomplete.isEmpty }
    var isComplete: Bool { isWhole && searches.allSatisfy(\.isComplete) }

    /// Returns the number of distinct hashes, added over test cases, because each test case has orders of its own.
    ///
    /// The shards of one test case are merged, because their orders overlap.
    fileprivate func distinct(_ sketch: (Search) -> [String]) -> String {
      let counts = cases.values.map { Sketch($0.values.map(sketch)) }
      let sum = counts.reduce(0) { $0 + $1.count }
      return (counts.allSatisfy(\.isExact) ? "" : "about ") + sum.grouped
    }

    var result: String {
      if hasFailed { return "**failed**" }
      if isCutOff { return "**report is cut off**" }
      if !missing.isEmpty {
        let numbers = missing.map(String.init).joined(separator: ", ")
        return "**no report of shard \(numbers)**"
      }
      if !incomplete.isEmpty {
        let numbers = incomplete.map(String.init).joined(separator: ", ")
        return "**test cases are missing in shard \(numbers)**"
      }
      return isComplete ? "complete: all orders" : "passed"
    }
  }

  private var tests: [Test] { reports.map(Test.init).sorted { $0.name < $1.name } }

  /// Whether no test has failed, and no report is missing or cut off.
  var isGreen: Bool { tests.allSatisfy { !$0.hasFailed && $0.isWhole } }

  // MARK: - The page

  var page: String {
    let tests = tests
    let failed = tests.count(where: \.hasFailed)
    let complete = tests.count(where: \.isComplete)
    let schedules = tests.flatMap(\.searches).reduce(0) { $0 + $1.schedules }
    var lines = [
      "# Schedules", "",
      """
      \(tests.count) \(tests.count == 1 ? "test" : "tests"), \(failed) failed, \(complete) complete, in \
      \(schedules.grouped) schedules.
      """, "",
    ]
    if failed > 0 { lines += ["## Failures", ""] + tests.flatMap(failures) }
    lines += missingCases(tests)
    lines += [
      "## Tests", "",
      "| test | shards | schedules | orders | classes | new in the last tenth | result |",
      "|---|---|---|---|---|---|---|",
    ]
    lines += tests.map { test in
      let searches = test.searches
      let cells = [
        Self.code(test.name).replacingOccurrences(of: "|", with: "\\|"),
        "\(test.shards.count) of \(test.count)",
        searches.reduce(0) { $0 + $1.schedules }.grouped, test.distinct(\.orderSketch),
        test.distinct(\.classSketch), searches.reduce(0) { $0 + $1.newClasses }.grouped,
        test.result,
      ]
      return "| " + cells.joined(separator: " | ") + " |"
    }
    lines += [
      "",
      """
      A class is a set of orders that differ only in the order of independent steps. A test is complete if \
      it has passed in all of its orders, if jobs take no time. New classes are those that a shard has seen \
      first in the last tenth of its schedules: none is a sign that more schedules would find little more.
      """, "",
    ]
    return lines.joined(separator: "\n")
  }

  private func failures(_ test: Test) -> [String] {
    var known: Set<[String?]> = []
    return test.shards.flatMap { report in
      report.searches.flatMap { search -> [String] in
        guard let failure = search.failure,
          known.insert([failure.token, failure.text, search.testCase]).inserted
        else { return [] }
        let of = report.shards > 1 ? " of shard \(report.shard)" : ""
        let testCase = search.testCase.map { " with the arguments \(Self.code($0))" } ?? ""
        let fence = Self.fence(failure.text, atLeast: 3)
        var lines = [
          "### \(Self.code(test.name))", "",
          "Schedule \(failure.schedule.grouped)\(of)\(testCase) \(Self.verb(search.result)):", "",
          fence + "text",
        ]
        lines += failure.text.split(separator: "\n", omittingEmptySubsequences: false).map(
          String.init)
        lines += [fence, ""]
        if !failure.token.isEmpty {
          let arguments = failure.arguments ?? ""
          lines += ["Replay: `.schedule(\"\(failure.token)\"\(arguments))`", ""]
        }
        return lines
      }
    }
  }

  /// Returns `least` backticks, or more if the text has as many in a row: these would end the code too early.
  private static func fence(_ text: String, atLeast least: Int) -> String {
    let longest = text.split { $0 != "`" }.map(\.count).max() ?? 0
    return String(repeating: "`", count: max(least, longest + 1))
  }

  /// Returns a text as code within a line. In Swift, the name of a test may contain backticks.
  static func code(_ text: String) -> String {
    let fence = fence(text, atLeast: 1)
    return fence.count == 1 ? "`\(text)`" : "\(fence) \(text) \(fence)"
  }

  private static func verb(_ result: String) -> String {
    switch result {
    case "crashed": "ends the process"
    case "diverged": "is not deterministic"
    default: "fails"
    }
  }
}

/// The number of different hashes in several sets. Of each set, only the smallest 1,024 hashes are known.
struct Sketch {
  private static let size = 1_024

  let count: Int
  let isExact: Bool

  init(_ sketches: [[String]]) {
    let hashes = Set(sketches.joined().compactMap { UInt64($0, radix: 16) }).sorted()
    isExact = sketches.allSatisfy { $0.count < Self.size }
    guard !isExact, hashes.count >= Self.size else {
      count = hashes.count
      return
    }
    // The `size` smallest hashes fill this share of the whole range, so the range has about `size / share` hashes.
    let share = Double(hashes[Self.size - 1]) / Double(UInt64.max)
    // If the file is damaged, all hashes may be small.
    count = Int(min((Double(Self.size - 1) / share).rounded(), 1e12))
  }
}
