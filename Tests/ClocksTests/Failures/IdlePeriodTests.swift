import ClocksSupport
import Foundation
import Testing

@testable import Clocks

/// What failures say of the real time for which nothing has happened.
@Suite struct IdlePeriodTests {
  @Test(arguments: [
    (0, "5.0 seconds of real time"), (9_990, "5.0 seconds of real time"),
    (10_049, "10.0 seconds of real time (the limit is 5.0 seconds)"),
    (81_350, "81.3 seconds of real time (the limit is 5.0 seconds)"),
  ])
  func theTimeIsStatedIfItIsFarLongerThanTheLimit(milliseconds: UInt64, text: String) {
    let period = IdlePeriod(limit: .seconds(5), nanoseconds: milliseconds * 1_000_000)
    #expect(period.description == text)
  }

  @Test func aShortLimitIsStatedAsItIs() {
    let period = IdlePeriod(limit: .milliseconds(200), nanoseconds: 5_100_000_000)
    #expect(period.description == "0.2 seconds of real time")
  }

  @Test func allReportsStateIt() {
    let nanoseconds: UInt64 = 81_000_000_000
    let period = IdlePeriod(limit: .seconds(5), nanoseconds: nanoseconds)
    let limit = Duration.seconds(30)
    let problems = [
      ScopeProblem.stuck(after: period) { [] }, .stuck(after: period) { ["a sleep"] },
      .held(after: period) { [] },
    ]
    let texts =
      problems.map { $0.description(at: "0.0 seconds") }
      + [problems[0].description(at: "0.0 seconds", isUnedited: true)]
    for text in texts {
      #expect(text.contains("for 81.0 seconds of real time (the limit is 5.0 seconds) "))
    }
    let reports = [
      Absence(tasks: [1], nanoseconds: nanoseconds).description(after: limit),
      Absence(tasks: [], queues: ["held"], nanoseconds: nanoseconds).description(after: limit),
      Standstill(sleeps: [], nanoseconds: nanoseconds).description(after: limit),
      Standstill(sleeps: [{ [] }], nanoseconds: nanoseconds).description(after: limit),
    ]
    for text in reports {
      #expect(text.contains("for 81.0 seconds of real time (the limit is 30.0 seconds)"))
    }
  }

  /// The list of tasks follows after one empty line.
  @Test func noReportEndsWithAnEmptyLine() {
    let limit = Duration.seconds(30)
    let reports = [
      Blockage(task: 1, number: 1, limit: limit, waiting: nil).description,
      Blockage(task: 1, number: 1, limit: limit, waiting: 1).description,
      Absence(tasks: [1]).description(after: limit),
      Absence(tasks: [1], queues: ["held"]).description(after: limit),
      Standstill(sleeps: [], nanoseconds: 0).description(after: limit),
      Standstill(sleeps: [{ ["a sleep"] }], nanoseconds: 0).description(after: limit),
    ]
    for text in reports { #expect(text.last != "\n", "\(text)") }
    #expect(reports[3].contains("without waiting for it.\nThe test has waited for"))
  }

  /// A busy machine, or another test that is busy, makes a scope's alarm ring more than once.
  @Test func aScopeMeasuresFromTheFirstAlarm() throws {
    let scope = ScopeState(Scope(ScopeOptions(stuckAfter: .seconds(5))))
    scope.body.begin(.any())
    let alarm = try #require(scope.setAlarm(isAwaited: false))
    usleep(20_000)
    guard case .rest(let next?) = scope.alarmRings(alarm.number, AutoAdvance.Others(areBusy: true))
    else {
      Issue.record("the alarm is not set again")
      return
    }
    _ = scope.alarmRings(next.number, AutoAdvance.Others())
    guard case .stuck(let period, _) = scope.body.problem else {
      Issue.record("the scope is not stuck")
      return
    }
    #expect(period.limit == .seconds(5))
    #expect(period.nanoseconds >= 20_000_000)
    _ = scope.body.end()
  }

  @Test func aWatchMeasuresFromItsBeginning() {
    var standstill = Watch()
    for isAnyBusy in [true, true, true, false, false] {
      _ = standstill.isDue(1, after: .zero, isPatient: isAnyBusy)
      usleep(1_000)
    }
    #expect(standstill.nanoseconds >= 5_000_000)
    var absence = Watch()
    for _ in 0..<2 {
      _ = absence.isDue(1, after: .zero)
      usleep(1_000)
    }
    #expect(absence.nanoseconds >= 2_000_000)
    #expect(Watch().nanoseconds == 0)
  }
}
