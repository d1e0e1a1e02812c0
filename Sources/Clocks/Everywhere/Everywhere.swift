import ClocksSearch
import ClocksSupport

/// Runs the tests of a suite in virtual time although they do not ask for it.
///
/// `libClocksEverywhere.so`, when it is preloaded, and the test kit, when `CLOCKS_EVERYWHERE` is set, pass each
/// test case here.
package enum Everywhere {
  /// The tests of this process, as the environment describes them.
  package static let settings = EverywhereSettings()

  /// Runs a test case in a scope of its own, if its time is to be virtual.
  ///
  /// - Parameters:
  ///   - report: Records a failure of the scope.
  package static func run(
    _ record: EverywhereRecord, report: @escaping @Sendable (String) -> Void,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard let plan = settings.plan(for: record) else { return try await body() }
    guard plan != .firstInFirstOut else {
      let time = VirtualTime(
        options(isExplored: false, for: record), at: CallSite(), record: report)
      defer { record.note(time) }
      return try await time.run { _ in try await body() }
    }
    prepareForOrders()
    let options = options(isExplored: true, for: record)
    let one = OneRun(options: options, origin: CallSite(), findings: Findings())
    // Tests in parallel, in one process or in several, may name their files by random numbers.
    one.run.salt = settings.salt(for: record)
    let outcome = await one(plan) { time in
      defer { record.note(time) }
      try await body()
    }
    for finding in outcome.findings where !finding.key.hasPrefix("threw") { report(finding.text) }
    if let error = outcome.error { throw error }
  }

  /// Prepares the process, before it has a second thread.
  package static func begin() {
    // The tests were written for as many threads as there are cores, and may block them.
    RuntimeHooks.threadIsBlocked()
    EverywhereXCTest.begin()
  }

  /// Writes what keeps the process from running as it was asked to.
  package static func warn(_ text: String) {
    writeToStandardError("clocks-everywhere: \(text)\n")
  }

  static func prepareForOrders() {
    Hashing.ignoreAddresses()
    NondeterminismHooks.redirect()
    RuntimeClocks.redirectForExplored()
  }

  static func options(isExplored: Bool, for record: EverywhereRecord) -> ScopeOptions {
    var options = ScopeOptions.standard
    options.goesOnWithout = { absence in record.add(reason: absence.reason) }
    // The suite was written for real time: it may wait for real work, and leave tasks behind.
    options.stuckAfter = Environment.blockedAfter * 2
    options.runningLimit = .seconds(600)
    options.keepsLeftovers = true
    options.waitsForOutside = true
    options.timePassesWhileBusy = true
    options.limits.jobs = 20_000
    options.isExplored = isExplored
    if isExplored { options.recording = .never(RefusedRecording()) }
    return options
  }
}

/// Which tests run in virtual time, and in which order each of them runs.
package struct EverywhereSettings: Sendable {
  var isVirtual = Environment.everywhere != "real"
  var real = Environment.everywhereReal
  var only = Environment.everywhereOnly
  var seed = Environment.everywhereSeed
  var replay = Environment.everywhereReplay.flatMap(EverywhereToken.init)

  /// Returns the order in which a test case runs; `nil` if it runs in real time.
  func plan(for record: EverywhereRecord) -> Plan? {
    guard isVirtual else { return nil }
    if real.contains(where: { Self.names($0, record.name) }) {
      record.add(reason: "runs in real time, as --real asks")
      return nil
    }
    if !only.isEmpty, !only.contains(where: { Self.names($0, record.name) }) {
      record.add(reason: "runs in real time, because --only names other tests")
      return nil
    }
    if let replay {
      return replay.test == record.name ? replay.plan(for: record) : .firstInFirstOut
    }
    return seed.map { EverywhereToken.plan(seed: $0, record) } ?? .firstInFirstOut
  }

  /// Returns a number that differs between test cases and between orders, and is the same in a replay.
  func salt(for record: EverywhereRecord) -> UInt64 {
    var mixer = Mixer(seed: record.hash &+ (replay?.seed ?? seed ?? 0))
    return mixer.next()
  }

  /// Returns whether a pattern is the name of a test, or of a suite or module around it.
  ///
  /// The beginning and the parentheses may be missing: `Shop.Cart/total()` is named by `Cart/total` and `Cart`.
  static func names(_ pattern: String, _ name: String) -> Bool {
    func parts(_ text: String) -> [Substring] {
      text.split { $0 == "." || $0 == "/" }.map { $0.prefix { $0 != "(" } }
    }
    let (wanted, all) = (parts(pattern), parts(name))
    guard !wanted.isEmpty, wanted.count <= all.count else { return false }
    return (0...(all.count - wanted.count)).contains {
      Array(all[$0..<($0 + wanted.count)]) == wanted
    }
  }
}

/// The text that replays one order of one test: `Shop.Cart/total()@17`.
package struct EverywhereToken: Sendable {
  let test: String
  let seed: UInt64

  init?(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let seed = UInt64(text[text.index(after: at)...]) else {
      return nil
    }
    (test, self.seed) = (String(text[..<at]), seed)
  }

  func plan(for record: EverywhereRecord) -> Plan { Self.plan(seed: seed, record) }

  /// Returns the order of a test case. Seed 0 is first in, first out.
  static func plan(seed: UInt64, _ record: EverywhereRecord) -> Plan {
    guard seed != 0 else { return .firstInFirstOut }
    var mixer = Mixer(seed: seed ^ record.hash)
    let own = mixer.next()
    return seed.isMultiple(of: 2) ? .partialOrder(seed: own) : .random(seed: own)
  }
}
