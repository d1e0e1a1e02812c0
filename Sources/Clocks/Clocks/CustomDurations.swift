import ClocksCore
import ClocksSupport

/// Maps keys to the durations of one clock, which are of type `Value`: see `CustomDurations`.
///
/// Keys are never reused, so the table grows with each sleep and each advance of its clock.
final class CustomDurationTable<Value: DurationProtocol>: CustomDurations {
  /// Guards `values`. Rank `leaf`.
  private let lock = Lock(.leaf)
  /// The durations. The attoseconds of a key are the index of its duration here.
  nonisolated(unsafe) private var values: [Value] = [.zero]

  func key(for value: Value) -> Swift.Duration {
    lock.withLock {
      values.append(value)
      return Swift.Duration(attoseconds: Int128(values.count - 1))
    }
  }

  func value(of key: Swift.Duration) -> Value { lock.withLock { values[Int(key.attoseconds)] } }

  func isLater(_ a: Swift.Duration, than b: Swift.Duration) -> Bool { value(of: a) > value(of: b) }

  func sum(_ a: Swift.Duration, _ b: Swift.Duration) -> Swift.Duration {
    key(for: value(of: a) + value(of: b))
  }

  func description(of key: Swift.Duration) -> String { "\(value(of: key))" }
}

extension VirtualClock {
  /// Creates a virtual clock for a `TestClock` with durations of type `Value`.
  static func starting<Value: DurationProtocol>(at now: Value) -> VirtualClock {
    if Value.self == Duration.self {
      return VirtualClock(now: unsafeBitCast(now, to: Duration.self))
    }
    let table = CustomDurationTable<Value>()
    return VirtualClock(now: table.key(for: now), table)
  }

  /// Returns a key that stands for `value` in the scheduler's state. With the standard library's durations, it is
  /// `value` itself.
  func key<Value: DurationProtocol>(for value: Value) -> Duration {
    if Value.self == Duration.self { return unsafeBitCast(value, to: Duration.self) }
    return Self.table(custom).key(for: value)
  }

  /// Returns the duration for which `key` stands, in the clock's own type. The caller need not hold the lock.
  func value<Value: DurationProtocol>(of key: Duration) -> Value {
    Self.value(of: key, in: custom)
  }

  static func value<Value: DurationProtocol>(
    of key: Duration, in custom: (any CustomDurations)?
  ) -> Value {
    if Value.self == Duration.self { return unsafeBitCast(key, to: Value.self) }
    return table(custom).value(of: key)
  }

  private static func table<Value>(
    _ custom: (any CustomDurations)?
  ) -> CustomDurationTable<Value> {
    guard let table = custom as? CustomDurationTable<Value> else {
      preconditionFailure("A clock is used with durations of a type that is not its own.")
    }
    return table
  }
}
