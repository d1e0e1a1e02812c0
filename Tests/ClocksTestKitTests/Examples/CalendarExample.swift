import Clocks
import ClocksTestKit
import Foundation
import Testing

/// Does something at a time of the calendar, again and again.
private struct Schedule {
  var calendar: Calendar
  var components: DateComponents

  /// The next time after a date.
  func next(after date: Date) -> Date? {
    calendar.nextDate(after: date, matching: components, matchingPolicy: .nextTime)
  }

  func run(_ action: () async -> Void) async throws {
    var date = Date()
    while let next = next(after: date) {
      try await Task.sleep(for: .seconds(next.timeIntervalSinceNow))
      await action()
      // The date may still be before `next`, because the system's clock was set back a little meanwhile.
      date = max(next, Date())
    }
  }
}

@Suite struct CalendarExample {
  /// The week of Berlin.
  private var calendar: Calendar {
    get throws {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
      return calendar
    }
  }

  @Test(.virtualTime) func everyMondayAtNineAlsoInSummer() async throws {
    let time = try VirtualTime.required
    // A Saturday. In the night to Sunday, 29 March, the clocks go from two to three.
    let start = DateComponents(year: 2026, month: 3, day: 21, hour: 12)
    time.date = try #require(try calendar.date(from: start))

    let schedule = Schedule(
      calendar: try calendar, components: DateComponents(hour: 9, minute: 0, weekday: 2))
    let report = TimedExpectation("report", expectedCount: 3)
    let reports = Task { try await schedule.run { report.fulfill() } }

    // Two nights and a morning; then a week less an hour; then a week again.
    let hours = [45, 45 + 167, 45 + 167 + 168]
    for (count, hour) in zip(1..., hours) {
      await time.advance(to: .init(offset: .seconds(hour * 3_600 - 1)))
      #expect(report.count == count - 1)
      await time.advance(to: .init(offset: .seconds(hour * 3_600)))
      #expect(report.count == count)
      let now = try calendar.dateComponents([.hour, .minute, .weekday], from: Date())
      #expect(now.hour == 9 && now.minute == 0 && now.weekday == 2)
    }
    reports.cancel()
  }

  /// The sleep ends as planned, before nine o'clock by the date.
  @Test(.virtualTime) func onceAWeekAlsoIfTheDateIsSetBack() async throws {
    let time = try VirtualTime.required
    let start = DateComponents(year: 2026, month: 3, day: 21, hour: 12)
    time.date = try #require(try calendar.date(from: start))

    let schedule = Schedule(
      calendar: try calendar, components: DateComponents(hour: 9, minute: 0, weekday: 2))
    let report = TimedExpectation("report", expectedCount: 1)
    let reports = Task { try await schedule.run { report.fulfill() } }

    await time.advance(to: .init(offset: .seconds(44 * 3_600)))
    time.date -= 1
    await time.advance(to: .init(offset: .seconds(48 * 3_600)))
    #expect(report.count == 1)
    reports.cancel()
  }
}
