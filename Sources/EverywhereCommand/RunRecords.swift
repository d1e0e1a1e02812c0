import Foundation

/// The records that the processes of one run wrote.
struct RunRecords: Sendable {
  struct Process: Sendable {
    var arguments: [String]
    var folder: String
  }

  /// The result of one test in one run, over all of its test cases.
  struct Test: Sendable {
    var hasPassed = true
    var isVirtual = false
    var realSeconds = 0.0
    var virtualSeconds = 0.0
    /// The seconds slept, by the stack of functions that slept, the innermost first.
    var sleeps: [[String]: Double] = [:]
    var reasons: [String] = []
    var failures: [String] = []
    /// The number of test cases that have begun, and have not ended.
    var open = 0
    /// The failures of test cases that have not ended.
    var early: [String] = []
    /// Whether its process ended while the test ran, and that is its only failure. Another test may be the cause.
    var isOnlyCutOff: Bool { open > 0 && failures == [Self.cutOff] }
    static let cutOff = "The process ended while this test ran."
  }

  private(set) var processes: [Process] = []
  private(set) var tests: [String: Test] = [:]
  var seed: UInt64?
  /// The number of processes that ended by a signal, or were ended because they took too long.
  var crashes = 0

  var realSeconds: Double { tests.values.reduce(0) { $0 + $1.realSeconds } }

  var virtualSeconds: Double { tests.values.reduce(0) { $0 + $1.virtualSeconds } }

  private struct Sleep: Decodable {
    var place: [String]
    var seconds: Double
  }

  private struct Line: Decodable {
    var process: [String]?
    var folder: String?
    var began: String?
    var failed: String?
    var name: String?
    var passed: Bool?
    var virtual: Bool?
    var realSeconds: Double?
    var virtualSeconds: Double?
    var sleeps: [Sleep]?
    var reasons: [String]?
    var failures: [String]?
  }

  init(folder: URL) {
    let files =
      (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil))
      ?? []
    for file in files.sorted(by: { $0.path < $1.path }) where file.pathExtension == "jsonl" {
      read(file)
    }
    // A test without an end was running when its process crashed, or when the process was ended.
    for (name, test) in tests where test.open > 0 {
      tests[name]?.hasPassed = false
      tests[name]?.failures += test.early + [Test.cutOff]
    }
  }

  private mutating func read(_ file: URL) {
    guard let data = try? Data(contentsOf: file) else { return }
    let decoder = JSONDecoder()
    let lines = data.split(separator: UInt8(ascii: "\n")).compactMap {
      try? decoder.decode(Line.self, from: $0)
    }
    for line in lines {
      if let arguments = line.process, lines.contains(where: { $0.began != nil }) {
        processes.append(Process(arguments: arguments, folder: line.folder ?? ""))
      }
      if let name = line.began { tests[name, default: Test()].open += 1 }
      if let name = line.failed { tests[name, default: Test()].early += line.failures ?? [] }
      if let name = line.name { add(line, to: &tests[name, default: Test()]) }
    }
  }

  private func add(_ line: Line, to test: inout Test) {
    test.open -= 1
    test.hasPassed = test.hasPassed && line.passed == true
    test.isVirtual = test.isVirtual || line.virtual == true
    test.realSeconds += line.realSeconds ?? 0
    test.virtualSeconds += line.virtualSeconds ?? 0
    for sleep in line.sleeps ?? [] { test.sleeps[sleep.place, default: 0] += sleep.seconds }
    for reason in line.reasons ?? [] where !test.reasons.contains(reason) {
      test.reasons.append(reason)
    }
    for failure in line.failures ?? [] {
      test.failures.append(failure)
      if let index = test.early.firstIndex(of: failure) { test.early.remove(at: index) }
    }
  }
}
