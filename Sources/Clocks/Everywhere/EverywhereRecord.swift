import ClocksSearch
import ClocksSupport

/// The record of one test case, for the report of the whole suite.
package final class EverywhereRecord: Sendable {
  /// For example `Shop.Cart/total()`.
  package let name: String
  /// The arguments of the test case; empty if it has none.
  let arguments: String
  private let start = RealTime(in: .zero)

  private struct State {
    var virtualTime = Duration.zero
    var isVirtual = false
    var sleeps: [[String]: Duration] = [:]
    var reasons: [String] = []
    var failures: [String] = []
    var isOver = false
  }

  private let lock = Lock(.leaf)
  nonisolated(unsafe) private var state = State()

  /// How many test cases with the same name and the same text of arguments had begun in this process before.
  let number: UInt64

  /// Guards `counts`. Rank `leaf`.
  private static let lockOfCounts = Lock(.leaf)
  /// The number of test cases so far, by their names and arguments.
  nonisolated(unsafe) private static var counts: [String: UInt64] = [:]

  package init(_ name: String, arguments: String = "") {
    (self.name, self.arguments) = (name, arguments)
    number = Self.lockOfCounts.withLock {
      let number = Self.counts[name + "\n" + arguments, default: 0]
      Self.counts[name + "\n" + arguments] = number + 1
      return number
    }
    EverywhereRecords.write([("began", .text(name)), ("arguments", .text(arguments))])
  }

  /// A number that follows from the name and the arguments.
  var hash: UInt64 { Mixer.hash(name + "\n" + arguments) }

  /// The virtual time that passed in all scopes of the test case.
  var virtualTime: Duration { lock.withLock { state.virtualTime } }

  /// Adds the virtual time that passed in a scope.
  func note(_ time: VirtualTime) {
    let passed = time.now.offset
    let sleeps = time.scheduler.change { $0.scope?.sleepPlaces?.all ?? [] }
    lock.withLock {
      state.isVirtual = true
      state.virtualTime = saturatingSum(state.virtualTime, passed)
      for (place, time) in sleeps {
        state.sleeps[place] = saturatingSum(state.sleeps[place] ?? .zero, time)
      }
    }
  }

  /// Notes that the test runs in virtual time.
  ///
  /// `note` adds how much time passed. It is not called if the scope is that of the test's own trait, or of the test
  /// within which it runs, or if the run is abandoned.
  package func noteVirtualTime() { lock.withLock { state.isVirtual = true } }

  /// Adds a reason if a test of XCTest ran in real time without one.
  ///
  /// Then the class of the test overrides `invokeTest`, or another version of the runtime lays classes out differently.
  func noteIfUnseen() {
    let isKnown = lock.withLock { state.isVirtual || !state.reasons.isEmpty }
    guard !isKnown, Environment.everywhere != "real" else { return }
    add(reason: "runs in real time, because XCTest does not call its method as version 6.3 does")
  }

  package func add(reason: String) {
    lock.withLock { if !state.reasons.contains(reason) { state.reasons.append(reason) } }
  }

  package func add(failure: String) {
    let isOver = lock.withLock {
      state.failures.append(failure)
      return state.isOver
    }
    // The failure is written immediately, because the process may end before the test does.
    guard !isOver else { return }
    EverywhereRecords.write([("failed", .text(name)), ("failures", .texts([failure]))])
  }

  package func end() {
    let state = lock.withLock {
      defer { self.state.isOver = true }
      return self.state
    }
    guard !state.isOver else { return }
    let sleeps = state.sleeps.sorted { $0.value > $1.value }.prefix(20).map {
      JSONValue.object([("place", .texts($0.key)), ("seconds", .number($0.value.seconds))])
    }
    EverywhereRecords.write([
      ("name", .text(name)), ("arguments", .text(arguments)),
      ("passed", .flag(state.failures.isEmpty)),
      ("virtual", .flag(state.isVirtual)),
      ("realSeconds", .number(Double(start.nanosecondsSince) / 1e9)),
      ("virtualSeconds", .number(state.virtualTime.seconds)),
      ("sleeps", .list(sleeps)),
      ("reasons", .texts(state.reasons)), ("failures", .texts(state.failures)),
    ])
  }
}

/// The file in which this process leaves its records, one JSON object per line.
enum EverywhereRecords {
  private static let file: Int32? = {
    #if !canImport(CRT) && !canImport(WASILibc)
      guard Environment.everywhereRecorder == nil, let folder = Environment.everywhereRecords
      else { return nil }
      let path = "\(folder)/\(getpid()).jsonl"
      let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard file >= 0 else {
        Terminal.writeLine("error: cannot write \(path): \(String(cString: strerror(errno)))")
        return nil
      }
      let folderOfProcess = getcwd(nil, 0)
      defer { free(folderOfProcess) }
      let process = JSONValue.object([
        ("process", .texts(CommandLine.arguments)),
        ("folder", .text(folderOfProcess.map { String(cString: $0) } ?? "")),
      ])
      writeText(process.json + "\n", to: file)
      return file
    #else
      // The command does not run on this platform, so no records are collected.
      return nil
    #endif
  }()

  static func write(_ fields: [(String, JSONValue)]) {
    if let file { writeText(JSONValue.object(fields).json + "\n", to: file) }
  }
}
