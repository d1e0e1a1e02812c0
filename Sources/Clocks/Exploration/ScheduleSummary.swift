import ClocksSupport

/// What came of a search in which the test passed.
public struct ScheduleSummary: Hashable, Sendable, CustomStringConvertible {
  /// The number of schedules that were run.
  public let schedules: Int
  /// The number of different orders that came of them.
  public let orders: Int
  /// Whether there is no other order.
  public let isComplete: Bool
  /// What was reached, in words.
  public let description: String

  init(
    schedules: Int, orders: Int, end: ScheduleSearch.End, limits: ScheduleSearch.Limits,
    time: Duration?
  ) {
    self.schedules = schedules
    self.orders = orders
    let isShared = limits.shard != .whole
    isComplete = end == .allOrders && !isShared
    let ofShard = isShared ? " of shard \(limits.shard.index + 1)/\(limits.shard.count)" : ""
    let different = "\(orders.grouped) different \(orders == 1 ? "order" : "orders")"
    description =
      switch end {
      case .allOrders: "\(different), all of them\(ofShard), in \(schedules.grouped) schedules"
      case .allReversals:
        """
        \(different), all\(ofShard) with up to \(limits.reversals ?? 0) reversals of steps that touch the same \
        actor, in \(schedules.grouped) schedules
        """
      case .count: "\(different) in \(schedules.grouped) schedules, as many as were asked for"
      case .time: "\(different) in \(schedules.grouped) schedules, in \(time ?? .zero) of real time"
      }
  }
}

/// How far a search has come.
struct ScheduleProgress: Sendable {
  var schedules: Int
  var orders: Int
  var perSecond: Int

  var text: String {
    "\(schedules.grouped) schedules, \(orders.grouped) orders, \(perSecond.grouped) a second"
  }
}

/// Tells about once a second how far a search has come, if anybody wants to know.
struct ProgressMeter {
  private let report: ((ScheduleProgress) -> Void)?
  private let pause: Duration
  private let start = RealTime(in: .zero)
  private var next: RealTime

  init(every pause: Duration = .seconds(1), report: ((ScheduleProgress) -> Void)?) {
    self.report = report
    self.pause = pause
    next = RealTime(in: pause)
  }

  mutating func ran(_ search: ScheduleSearch) {
    guard let report, search.tried & 0xF == 0, next.hasPassed else { return }
    next = RealTime(in: pause)
    let seconds = Double(start.nanosecondsSince) / 1e9
    report(
      ScheduleProgress(
        schedules: search.tried, orders: search.orders.count,
        perSecond: Int(Double(search.tried) / max(seconds, 0.001))))
  }
}
