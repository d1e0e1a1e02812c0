import Synchronization

/// A log of events and their times, in order.
public final class EventLog: Sendable {
  private let elapsed: @Sendable () -> Duration
  private let events = Mutex<[String]>([])

  /// Makes a log that reads `clock`, with a time that begins now.
  public init(on clock: some Clock<Duration>) {
    elapsed = Self.stopwatch(clock)
  }

  private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// Logs an event that happens now.
  public func add(_ event: String) {
    let line = "\(elapsed().inMilliseconds) \(event)"
    events.withLock { $0.append(line) }
  }

  /// All events, each after its time in milliseconds: `"300 a"`.
  public var all: [String] { events.withLock { $0 } }
}

extension Duration {
  /// The duration in milliseconds, with all digits: `"300"`, `"0.000001"`.
  fileprivate var inMilliseconds: String {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
    guard rest != 0 else { return "\(whole)" }
    let digits = String(repeating: "0", count: 15) + "\(abs(rest))"
    return "\(whole).\(digits.suffix(15).trimmingZeros)"
  }
}

extension Substring {
  fileprivate var trimmingZeros: Substring {
    var digits = self
    while digits.last == "0" { digits.removeLast() }
    return digits
  }
}
