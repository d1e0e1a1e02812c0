import Clocks
import Foundation

/// The combined results of all runs of a suite.
struct SuiteReport {
  let options: Options
  let realSeconds: Double
  var entries: [String: Entry] = [:]
  private var runs = 0
  private var crashes = 0
  var baselineSeconds: Double?

  struct Entry {
    var first = RunRecords.Test()
    var passed = 0
    var failed = 0
    /// Whether the test has passed in the first run and in the second; `nil` if that run does not contain it.
    var passesFirst: Bool?
    var passesSecond: Bool?
    /// The first seed with which the test failed; 0 is first in, first out.
    var failingSeed: UInt64?
    var failures: [String] = []
    /// Whether the test has failed first only because its process ended.
    var mayBeCutOff = false
    var reasons: [String] = []
    /// The record of the test in the repetition in real time; `nil` if that did not run it.
    var baseline: RunRecords.Test?
    /// Whether the failing order has failed again.
    var failsAgain: Bool?
    /// Whether the process ended while the test ran, and the test does not fail alone in that order.
    var isCutOff = false

    enum Result: String {
      case passed
      case failed
      /// Passes in real time, and fails in virtual time.
      case differs
      case orderDependent = "order-dependent"
    }

    /// Whether the test did not run in virtual time. Then neither virtual time nor an order of jobs explains a failure.
    var isInRealTime: Bool { !first.isVirtual && first.open == 0 }

    var result: Result {
      if failed == 0 { return .passed }
      if isCutOff || isInRealTime { return .failed }
      if passed > 0 && failsAgain != false { return .orderDependent }
      return baseline?.hasPassed == true ? .differs : .failed
    }
  }

  init(options: Options, realSeconds: Double) {
    (self.options, self.realSeconds) = (options, realSeconds)
  }

  var hasFailures: Bool { crashes > 0 || entries.values.contains { $0.failed > 0 } }

  mutating func add(_ run: RunRecords) {
    runs += 1
    crashes += run.crashes
    for (name, test) in run.tests {
      var entry = entries[name] ?? Entry(first: test)
      if runs == 1 { entry.passesFirst = test.hasPassed }
      if runs == 2 { entry.passesSecond = test.hasPassed }
      if test.hasPassed {
        entry.passed += 1
      } else {
        entry.failed += 1
        if entry.failingSeed == nil {
          entry.failingSeed = run.seed ?? options.firstSeed(of: name)
          entry.failures = test.failures
          entry.mayBeCutOff = test.isOnlyCutOff && name.hasSuffix(")")
        }
      }
      for reason in test.reasons where !entry.reasons.contains(reason) {
        entry.reasons.append(reason)
      }
      entries[name] = entry
    }
  }

  private func token(_ name: String, _ entry: Entry) -> String? {
    entry.failingSeed.map { "\(name)@\($0)" }
  }

  private var virtualSeconds: Double { entries.values.reduce(0) { $0 + $1.first.virtualSeconds } }

  private var testSeconds: Double { entries.values.reduce(0) { $0 + $1.first.realSeconds } }

  // MARK: - For people

  var text: String {
    var lines = ["", heading]
    if let token = options.replay, let entry = entries[token.test] {
      lines.append("Replayed \(token.text): \(entry.endingOfReplay(with: token.seed)).")
    }
    lines += sleepers + slowTests
    lines += section(.orderDependent, "Order-dependent: passes in some orders, and fails in others")
    lines += section(.differs, "Passes in real time, and fails in virtual time")
    lines += section(.failed, baselineSeconds == nil ? "Failed" : "Failed in real time, too") {
      !$0.isCutOff && !$0.isInRealTime && (baselineSeconds == nil || $0.baseline != nil)
    }
    lines += section(.failed, "The process ended while these tests ran") { $0.isCutOff }
    lines += section(
      .failed, "Failed, and missing in the repetition in real time, which ended early"
    ) {
      !$0.isCutOff && !$0.isInRealTime && baselineSeconds != nil && $0.baseline == nil
    }
    lines += section(.failed, "Failed, and ran in real time") { !$0.isCutOff && $0.isInRealTime }
    lines += failuresOnlyInRealTime
    let real = entries.filter { $0.value.isInRealTime }.keys.sorted()
    if !real.isEmpty { lines += ["In real time:"] + inRealTime(real) }
    if crashes > 0 {
      lines.append("\(crashes) \(crashes == 1 ? "process" : "processes") crashed, or did not end.")
    }
    if !hasFailures, virtualSeconds > 0 {
      lines.append("To use virtual time without this command: \(advice)")
    }
    return lines.joined(separator: "\n")
  }

  private var failuresOnlyInRealTime: [String] {
    let found = entries.filter { $0.value.failed == 0 && $0.value.baseline?.hasPassed == false }
    guard !found.isEmpty else { return [] }
    return ["Passes in virtual time, and failed in the repetition in real time:"]
      + found.sorted { $0.key < $1.key }.flatMap { name, entry in
        ["  \(name)"] + Self.summary(of: entry.baseline?.failures.first)
      }
  }

  /// Returns the first lines of a failure.
  private static func summary(of failure: String?) -> [String] {
    (failure?.split(separator: "\n").prefix(3) ?? []).map { "    \($0)" }
  }

  /// The most tests in real time with one reason that are listed, and not only counted.
  private static let mostListed = 2

  /// Returns a line for each test, or for several tests with one reason.
  private func inRealTime(_ tests: [String]) -> [String] {
    let groups = Dictionary(grouping: tests) { entries[$0]?.reasons.first ?? "" }
    return groups.sorted { $0.value[0] < $1.value[0] }.flatMap { reason, tests in
      let text = reason.isEmpty ? "" : ": \(reason.replacing("runs in real time, ", with: ""))"
      return tests.count > Self.mostListed && !reason.isEmpty
        ? ["  \(tests.count) tests\(text)"] : tests.map { "  \($0)\(text)" }
    }
  }

  /// How to keep virtual time without this command. Only the names of tests of Swift Testing end with a parenthesis.
  private var advice: String {
    let isSwiftTesting = Set(entries.keys.map { $0.hasSuffix(")") })
    if isSwiftTesting == [false] {
      return "depend on Clocks, and write `try await withVirtualTime { … }` in the tests."
    }
    let trait = "depend on ClocksTestKit, and write @Suite(.virtualTime)"
    return isSwiftTesting == [true]
      ? "\(trait)." : "\(trait), and `try await withVirtualTime { … }` in the tests of XCTest."
  }

  /// The lines that list the places in the code that slept longest in the first order.
  private var sleepers: [String] {
    var places: [[String]: Double] = [:]
    for entry in entries.values { places.merge(entry.first.sleeps) { $0 + $1 } }
    let found = places.sorted { $0.value > $1.value }.prefix(50)
    var seconds: [String: Double] = [:]
    for (name, place) in zip(SleepPlaces.names(of: found.map(\.key)), found) {
      seconds[name, default: 0] += place.value
    }
    seconds = seconds.filter { $0.value >= 0.005 }
    guard !seconds.isEmpty else { return [] }
    return ["Most time slept:"]
      + seconds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(5).map {
        "  \(Self.duration($0.value))  \($0.key)"
      }
  }

  /// The passing tests that took longest in real time, although they ran in virtual time, and why, where that is known.
  private var slowTests: [String] {
    let found = entries.filter {
      $0.value.failed == 0 && $0.value.first.isVirtual && $0.value.first.realSeconds >= 1
    }
    guard !found.isEmpty else { return [] }
    let slowest = found.sorted {
      ($1.value.first.realSeconds, $0.key) < ($0.value.first.realSeconds, $1.key)
    }
    return ["Took more than a second of real time:"]
      + slowest.prefix(5).flatMap { name, entry in
        ["  \(Self.duration(entry.first.realSeconds))  \(name)"]
          + entry.reasons.map { "    \($0)" }
      }
  }

  private var heading: String {
    let count = entries.count
    var text = "clocks-everywhere: \(count) \(count == 1 ? "test" : "tests")"
    if options.orders > 1 { text += " in \(runs) orders" }
    text += ": \(results.joined(separator: ", ")); \(Self.duration(realSeconds)) of real time"
    if virtualSeconds >= 0.005 {
      text += ", and \(Self.duration(virtualSeconds)) of virtual time"
    }
    if let baselineSeconds, entries.values.allSatisfy({ $0.baseline?.open == 0 }) {
      text += """
        . Added up, the tests took \(Self.duration(baselineSeconds)) without virtual time, and \
        \(Self.duration(testSeconds)) with it
        """
    }
    return text
  }

  /// How many tests have each result, for example `18 passed in all, 1 is order-dependent`.
  private var results: [String] {
    let counts = Dictionary(grouping: entries.values, by: \.result).mapValues(\.count)
    let isAll = options.orders > 1 && entries.values.allSatisfy { $0.passed + $0.failed == runs }
    return [
      counts[.passed].map { "\($0) passed\(isAll ? " in all" : "")" },
      counts[.orderDependent].map { "\($0) \($0 == 1 ? "is" : "are") order-dependent" },
      counts[.differs].map { "\($0) failed only in virtual time" },
      counts[.failed].map { "\($0) failed" },
    ].compactMap(\.self)
  }

  private func section(
    _ result: Entry.Result, _ title: String, where isListed: (Entry) -> Bool = { _ in true }
  ) -> [String] {
    let found = entries.filter { $0.value.result == result && isListed($0.value) }
      .sorted { $0.key < $1.key }
    guard !found.isEmpty else { return [] }
    return ["\(title):"]
      + found.flatMap { name, entry in
        var lines = ["  \(name)"]
        if options.orders > 1 {
          lines[0] += ": failed in \(entry.failed) of \(entry.passed + entry.failed)"
        } else if let seed = options.seed {
          lines[0] += entry.ending(with: seed)
        }
        lines += Self.summary(of: entry.failures.first)
        lines += entry.reasons.map { "    \($0)" }
        if result == .orderDependent, let token = token(name, entry) {
          let command = ([token] + options.command).map(Options.quoted).joined(separator: " ")
          lines.append("    Replay: clocks-everywhere --replay \(command)")
        } else if result == .differs {
          lines.append("    To leave it in real time: --real \(Options.quoted(name))")
        }
        return lines
      }
  }

  /// Returns a duration as text, for example `0.24 s` or `25 h 3 min`.
  static func duration(_ seconds: Double) -> String {
    if seconds < 120 { return String(format: "%.2f s", seconds) }
    guard let minutes = Int(exactly: (seconds / 60).rounded()) else { return "∞" }
    return minutes < 120 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
  }

  // MARK: - For programs

  private struct Output: Encodable {
    struct Test: Encodable {
      struct Orders: Encodable {
        var passed: Int
        var failed: Int
      }

      var name: String
      var result: String
      var realSeconds: Double
      var virtualSeconds: Double
      var orders: Orders
      var reasons: [String]
      var replay: String?
    }

    var tests: [Test]
    var realSeconds: Double
    var virtualSeconds: Double
  }

  var json: Data {
    get throws {
      let tests = entries.sorted { $0.key < $1.key }.map { name, entry in
        Output.Test(
          name: name, result: entry.result.rawValue, realSeconds: entry.first.realSeconds,
          virtualSeconds: entry.first.virtualSeconds,
          orders: .init(passed: entry.passed, failed: entry.failed),
          reasons: entry.reasons + entry.failures, replay: token(name, entry))
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(
        Output(tests: tests, realSeconds: realSeconds, virtualSeconds: virtualSeconds))
    }
  }
}
