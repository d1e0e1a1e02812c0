import Testing

@testable import Clocks

/// Reports that list the pending sleeps say so if there are none.
@Suite struct PendingSleepsTests {
  private static let period = IdlePeriod(limit: .seconds(5), nanoseconds: 5_000_000_000)

  private static func reports(_ lines: [String]) -> [String] {
    let problems: [ScopeProblem] = [
      .held(after: period) { lines }, .tooLong(.seconds(60)) { lines },
    ]
    let standstill = Standstill(sleeps: [{ lines }], nanoseconds: 5_000_000_000)
    return problems.map { $0.description(at: "0.0 seconds") }
      + [
        problems[1].description(at: "0.0 seconds", isUnedited: true),
        standstill.description(after: .seconds(5)),
      ]
  }

  @Test(arguments: reports([])) func noneIsStated(report: String) {
    #expect(report.hasSuffix("Pending sleeps: none"), "\(report)")
  }

  @Test(arguments: reports(["a sleep", "another"])) func theyAreListedBelow(report: String) {
    #expect(report.hasSuffix("Pending sleeps:\n  - a sleep\n  - another"), "\(report)")
  }
}
