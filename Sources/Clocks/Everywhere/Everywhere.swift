import ClocksSearch
import ClocksSupport

/// Runs the tests of a suite in virtual time, although they were not written for it.
///
/// `libClocksEverywhere.so`, when it is preloaded, and the test kit, when `CLOCKS_EVERYWHERE` is set, pass each
/// test case here.
package enum Everywhere {
  /// Runs a test case in a scope of its own, unless it runs in real time.
  ///
  /// - Parameter report: Records a failure of the scope.
  package static func run(
    _ record: EverywhereRecord, report: @escaping @Sendable (String) -> Void,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard let plan = EverywhereSettings.plan(for: record) else { return try await body() }
    guard plan != .firstInFirstOut else {
      let time = VirtualTime(
        options(isExplored: false, for: record), at: .unknown, record: report)
      defer { record.note(time) }
      return try await time.run { _ in
        testBegins()
        try await body()
      }
    }
    let one = OneRun(
      options: options(isExplored: true, for: record), origin: .unknown, findings: Findings(),
      stepLimit: mostSteps)
    // Tests may use random numbers as file names. The salt gives each test different numbers, even in another process,
    // so tests that run in parallel do not share a file.
    one.run.salt = EverywhereSettings.salt(for: record)
    let outcome = await one(plan) { time in
      // The end of this closure is never reached in a run that is abandoned.
      record.noteVirtualTime()
      defer { record.note(time) }
      testBegins()
      try await body()
    }
    for finding in outcome.findings where finding.kind != .thrown { report(finding.text) }
    if let error = outcome.error { throw error }
  }

  /// Prepares the process, before it has a second thread.
  package static func begin() {
    endWithCommand()
    // Tests may block the threads of Dispatch's pool, so jobs run on threads of this package.
    RuntimeHooks.useExtraThreads()
    Watchdog.checksOften = true
    Environment.beginRecording()
    #if os(Linux) && canImport(Glibc)
      RuntimeClocks.redirectTestBundle()
    #endif
    EverywhereXCTest.begin()
  }

  /// Writes a warning that the process does not run as requested.
  package static func warn(_ text: String) {
    Terminal.writeLine("clocks-everywhere: \(text)")
  }

  /// The number of steps after which a test continues first in, first out, because each step of an order takes memory.
  static let mostSteps = 100_000

  /// Lets the kernel end this process when the command that started it ends in any way.
  private static func endWithCommand() {
    #if os(Linux)
      typealias Control = @convention(c) (CInt, UInt, UInt, UInt, UInt) -> CInt
      let parent = getppid()
      guard Environment.everywhereParent == parent else { return }
      guard let control = RuntimeSymbol.function("prctl", as: Control.self) else {
        return warn("prctl is missing, so this process does not end with the command.")
      }
      // 1 is `PR_SET_PDEATHSIG`: a signal when the thread that started this process ends, the command's main thread.
      _ = control(1, UInt(SIGKILL), 0, 0, 0)
      // No signal comes if the command ended before this call.
      if getppid() != parent { kill(getpid(), SIGKILL) }
    #endif
  }

  static func testBegins() {
    SleepPlaces.prepare()
    IdleProcess.testBegins()
  }

  static func options(isExplored: Bool, for record: EverywhereRecord) -> ScopeOptions {
    var options = ScopeOptions.standard
    options.testName = record.name
    options.goesOnWithout = { reason in record.add(reason: reason) }
    options.stuckAfter = Environment.blockedAfter * 2
    options.runningLimit = Environment.blockedAfter * 20
    options.limits.jobs = 20_000
    options.isExplored = isExplored
    if isExplored {
      Hashing.ignoreAddresses()
      NondeterminismHooks.redirect()
      RuntimeClocks.redirectForExplored()
      options.recording = .never(RefusedRecording())
      // Each reading of the clock moves time by a microsecond, so equal sleeps that begin together end at different
      // instants. The slack lets them wake in any order.
      options.slack = .microseconds(100)
    }
    return options
  }
}

/// Which tests of this process run in virtual time, and in which order each of them runs, by the environment.
package enum EverywhereSettings {
  private static let replay = Environment.everywhereReplay.flatMap(EverywhereToken.init)
  private static let seed = replay?.seed ?? Environment.everywhereSeed ?? 0

  /// Returns the order in which a test case runs; `nil` if it runs in real time.
  static func plan(for record: EverywhereRecord) -> Plan? {
    guard Environment.everywhere != "real" else { return nil }
    if Environment.everywhereReal.contains(where: { names($0, record.name) }) {
      record.add(reason: "runs in real time, as --real asks")
      return nil
    }
    let only = Environment.everywhereOnly
    if !only.isEmpty, !only.contains(where: { names($0, record.name) }) {
      record.add(reason: "runs in real time, because --only names other tests")
      return nil
    }
    if let replay, replay.test != record.name { return .firstInFirstOut }
    // Seed 0 is first in, first out.
    guard seed != 0 else { return .firstInFirstOut }
    var mixer = Mixer(seed: seed ^ record.hash)
    let own = mixer.next()
    return seed.isMultiple(of: 2) ? .partialOrder(seed: own) : .random(seed: own)
  }

  /// Returns the next `count` seeds after `first`. None of them is 0, the seed of first in, first out.
  package static func seeds(after first: UInt64, count: Int) -> [UInt64] {
    (0..<count).map { number in
      let (seed, wraps) = first.addingReportingOverflow(UInt64(number) + 1)
      return wraps ? seed + 1 : seed
    }
  }

  /// Returns a number that differs between test cases and between orders, and is the same in a replay.
  ///
  /// It also differs between the test cases of one process whose arguments have the same text. The order in which they
  /// begin may differ in a replay.
  static func salt(for record: EverywhereRecord) -> UInt64 {
    var mixer = Mixer(seed: (record.hash &+ seed) ^ Mixer.hash(String(record.number)))
    return mixer.next()
  }

  /// Returns whether `pattern` is the name of the test, or of a suite or module around it.
  ///
  /// The beginning and the parentheses may be missing: `Shop.Cart/total()` is named by `Cart/total` and `Cart`. With
  /// parentheses, a pattern names no other function, such as `total(of:)`.
  package static func names(_ pattern: String, _ name: String) -> Bool {
    func parts(_ text: String) -> [Substring] { text.split { $0 == "." || $0 == "/" } }
    let (wanted, all) = (parts(pattern), parts(name))
    return !wanted.isEmpty
      && all.indices.contains { start in
        all[start...].starts(with: wanted) { $0 == $1 || $0.hasPrefix("\($1)(") }
      }
  }
}

/// The text that replays one order of one test: `Shop.Cart/total()@17`.
package struct EverywhereToken: Sendable {
  package let test: String
  package let seed: UInt64
  package var text: String { "\(test)@\(seed)" }

  package init?(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let seed = UInt64(text[text.index(after: at)...]) else {
      return nil
    }
    (test, self.seed) = (String(text[..<at]), seed)
  }
}
