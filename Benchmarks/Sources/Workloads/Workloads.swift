import Clocks

/// The measured workloads, each for `TestClock` and for the floor.
///
/// Deadlines are registered in a random order that is the same in every run.
public enum Workloads {
  public static func shuffled(_ count: Int) -> [Int] {
    var generator = SplitMix64(state: 42)
    return Array(1...count).shuffled(using: &generator)
  }

  // MARK: - Waking

  /// Measures the advance that wakes tasks which sleep once each.
  public static func wakeOurs(_ deadlines: [Int]) async -> Double {
    let clock = TestClock()
    for deadline in deadlines {
      Task.detached { try? await clock.sleep(until: .init(offset: .nanoseconds(deadline))) }
    }
    await clock.settle()
    return await nanoseconds(per: deadlines.count) { await clock.run(timeout: .seconds(600)) }
  }

  public static func wakeFloor(_ deadlines: [Int]) async -> Double {
    let floor = Floor()
    for deadline in deadlines {
      _ = floor.start { try? await floor.sleep(until: Int64(deadline)) }
    }
    floor.settle()
    return await nanoseconds(per: deadlines.count) { floor.run() }
  }

  // MARK: - Registering

  /// Measures the start of tasks until all of them sleep.
  public static func registerOurs(_ deadlines: [Int]) async -> Double {
    let clock = TestClock()
    let time = await nanoseconds(per: deadlines.count) {
      for deadline in deadlines {
        Task.detached { try? await clock.sleep(until: .init(offset: .nanoseconds(deadline))) }
      }
      await clock.settle()
    }
    await clock.run(timeout: .seconds(600))
    return time
  }

  public static func registerFloor(_ deadlines: [Int]) async -> Double {
    let floor = Floor()
    let time = await nanoseconds(per: deadlines.count) {
      for deadline in deadlines {
        _ = floor.start { try? await floor.sleep(until: Int64(deadline)) }
      }
      floor.settle()
    }
    floor.run()
    return time
  }

  // MARK: - One task in a loop

  public static func loopOurs(_ count: Int) async -> Double {
    let clock = TestClock()
    Task.detached {
      for tick in 1...count {
        try await clock.sleep(until: .init(offset: .nanoseconds(tick)))
      }
    }
    await clock.settle()
    return await nanoseconds(per: count) { await clock.run(timeout: .seconds(600)) }
  }

  public static func loopFloor(_ count: Int) async -> Double {
    let floor = Floor()
    _ = floor.start {
      for tick in 1...count { try? await floor.sleep(until: Int64(tick)) }
    }
    floor.settle()
    return await nanoseconds(per: count) { floor.run() }
  }

  // MARK: - Cancelling

  /// Measures the cancellation of sleeping tasks, in random order, until they end.
  public static func cancelOurs(_ order: [Int]) async -> Double {
    let clock = TestClock()
    let tasks = (1...order.count).map { deadline in
      Task.detached {
        _ = try? await clock.sleep(until: .init(offset: .nanoseconds(deadline)))
      }
    }
    await clock.settle()
    return await nanoseconds(per: order.count) {
      for index in order { tasks[index - 1].cancel() }
      await clock.settle()
    }
  }

  public static func cancelFloor(_ order: [Int]) async -> Double {
    let floor = Floor()
    let tasks = (1...order.count).map { deadline in
      floor.start { try? await floor.sleep(until: Int64(deadline)) }
    }
    floor.settle()
    let time = await nanoseconds(per: order.count) {
      // Captured, because each cancelled task becomes ready immediately.
      floor.capture { for index in order { tasks[index - 1].cancel() } }
      floor.settle()
    }
    floor.run()
    return time
  }
}

/// A small random number generator with a fixed seed.
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
