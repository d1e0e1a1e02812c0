import ClocksSearch
import ClocksSupport

/// The result of a search in which the test passed.
public struct ScheduleSummary: Hashable, Sendable, CustomStringConvertible {
  /// The number of schedules that were run.
  public let schedules: Int
  /// The number of different orders among the schedules.
  public let orders: Int
  /// The number of happens-before classes among the orders.
  ///
  /// Orders of one class differ only in the order of independent steps. Two steps are independent if they belong to
  /// different tasks, touch no actor in common, and neither has made the other ready. Steps that share an object, with
  /// or without a lock, count as independent, too.
  public let classes: Int
  /// Whether the search has tried all orders that are possible if jobs take no time.
  public let isComplete: Bool
  /// The result in words.
  public let description: String

  init(
    schedules: Int, orders: Int, classes: Int, newClasses new: Int, end: ScheduleSearch.End,
    limits: ScheduleSearch.Limits, time: Duration?
  ) {
    self.schedules = schedules
    self.orders = orders
    self.classes = classes
    let isShared = limits.shard != .whole
    isComplete = end == .allOrders && !isShared
    let ofShard = isShared ? " of shard \(limits.shard.index + 1)/\(limits.shard.count)" : ""
    let onlyIf =
      limits.bounds.stalls > 0
      ? """
      , if a stall lasts until the next deadline or \(limits.bounds.stallTime), and jobs otherwise take no time
      """ : ", if jobs take no time"
    let found = """
      \(orders.grouped) \(orders == 1 ? "order" : "orders") in \(classes.grouped) \
      \(classes == 1 ? "class" : "classes")
      """
    let tried = "in \(schedules.grouped) \(schedules == 1 ? "schedule" : "schedules")"
    let news = "\(new.grouped) \(new == 1 ? "class was" : "classes were") new in the last tenth"
    description =
      switch end {
      case .allOrders: "\(found): all of them\(ofShard)\(onlyIf), \(tried)"
      case .allReversals:
        """
        \(found): all\(ofShard) with up to \(limits.reversals ?? 0) reversals\(onlyIf), \(tried)
        """
      case .count: "\(found) \(tried), as many as were asked for; \(news)"
      case .time: "\(found) \(tried), in \(time ?? .zero) of real time; \(news)"
      case .cancelled: "\(found) \(tried); the search was cancelled"
      case .noNewClass: "\(found) \(tried); no class was new in the last half of them"
      }
  }
}
