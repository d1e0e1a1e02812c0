import ClocksSupport

package struct ScheduleProgress: Sendable {
  package var schedules: Int
  var orders: Int
  var classes: Int
  var perSecond: Int

  package var text: String {
    """
    \(schedules.grouped) schedules, \(orders.grouped) orders in \(classes.grouped) classes, \
    \(perSecond.grouped) a second
    """
  }
}

/// Reports the progress of a search about once a second.
package struct ProgressMeter {
  private let report: ((ScheduleProgress) -> Void)?
  private let pause: Duration
  private let start = RealTime(in: .zero)
  private var next: RealTime

  package init(every pause: Duration = .seconds(1), report: ((ScheduleProgress) -> Void)?) {
    self.report = report
    self.pause = pause
    next = RealTime(in: pause)
  }

  package mutating func ran(_ search: ScheduleSearch) {
    guard let report, search.tried & 0xF == 0, next.hasPassed else { return }
    next = RealTime(in: pause)
    let seconds = Double(start.nanosecondsSince) / 1e9
    report(
      ScheduleProgress(
        schedules: search.tried, orders: search.orders.count,
        classes: search.coverage.classes.count,
        perSecond: Int(Double(search.tried) / max(seconds, 0.001))))
  }
}
