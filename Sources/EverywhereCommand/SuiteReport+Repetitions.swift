// Repetitions of tests that have failed, and their results.
extension SuiteReport {
  /// The tests to repeat, each with a seed with which it fails: those that pass in some orders and fail in others, and
  /// those whose process ended.
  ///
  /// A test of Swift Testing whose process ended has to be repeated alone: another test may be the cause.
  var testsToRepeat: [(name: String, seed: UInt64, isAlone: Bool)] {
    entries.filter {
      $0.value.failed > 0 && ($0.value.passed > 0 || $0.value.mayBeCutOff) && !$0.value.isInRealTime
    }
    .sorted { $0.key < $1.key }
    .compactMap { name, entry in entry.failingSeed.map { (name, $0, entry.mayBeCutOff) } }
  }

  mutating func addBaseline(_ run: RunRecords) {
    baselineSeconds = run.realSeconds
    // If several tests ran when the process ended, any of them may be the cause.
    let areSeveralCutOff = run.tests.values.count { $0.isOnlyCutOff } > 1
    for (name, test) in run.tests where !areSeveralCutOff || !test.isOnlyCutOff {
      entries[name]?.baseline = test
    }
  }

  /// Notes whether a test fails again in the order in which it failed.
  ///
  /// - Parameter isAlone: Whether the run had no other test.
  mutating func addReplay(of name: String, _ run: RunRecords, isAlone: Bool) {
    entries[name]?.failsAgain = run.tests[name]?.hasPassed == false
    guard entries[name]?.failsAgain == false else {
      if isAlone { entries[name]?.reasons.append("fails alone, too") }
      return
    }
    entries[name]?.isCutOff = isAlone
    entries[name]?.reasons.append(
      isAlone
        ? "does not fail alone in that order: another test may have ended the process"
        : "does not fail again in the order in which it failed: it depends on more than the order")
  }

  /// Notes that a test whose process ended was not repeated alone, because other repetitions took too long.
  mutating func addNoReplay(of name: String) {
    entries[name]?.isCutOff = true
    entries[name]?.reasons.append(
      "was not repeated alone, because such repetitions of other tests took a minute")
  }
}
