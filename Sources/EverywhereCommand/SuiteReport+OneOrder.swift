// Texts for a test that was run in one order, given by a token or a seed. If any test fails in that order, all tests
// are repeated first in, first out.
extension SuiteReport.Entry {
  /// For example `it failed. First in, first out, it passed`. The order of seed 0 is first in, first out.
  func endingOfReplay(with seed: UInt64) -> String {
    let ending = passesFirst == true ? "it passed" : "it failed"
    guard let passesSecond else { return ending }
    return """
      \(ending). \(seed == 0 ? "Repeated" : "First in, first out"), it \
      \(passesSecond ? "passed" : "failed, too")
      """
  }

  /// For example `: failed with seed 17, and passed first in, first out`.
  func ending(with seed: UInt64) -> String {
    switch (passesFirst, passesSecond) {
    case (false, true): ": failed with seed \(seed), and passed first in, first out"
    case (false, false): ": failed with seed \(seed), and first in, first out"
    case (true, false): ": passed with seed \(seed), and failed first in, first out"
    case (nil, _), (_, nil), (true, true): ""
    }
  }
}
