import Dispatch

/// Code under test. It knows nothing of test clocks.
public actor Depot {
  public private(set) var parcels = 0

  public init() {}

  public func store() { parcels += 1 }
}

/// A day's work, with a clock that is injected.
public func deliver(
  every interval: Duration, to depot: Depot, on clock: some Clock<Duration>
) async throws {
  while true {
    try await clock.sleep(for: interval)
    await withTaskGroup { group in
      for _ in 0..<10 { group.addTask { await depot.store() } }
    }
  }
}

/// A timer of Dispatch, as older code has it.
public func afterAnHour(_ work: @escaping @Sendable () -> Void) {
  DispatchQueue.global().asyncAfter(deadline: .now() + 3600, execute: work)
}
