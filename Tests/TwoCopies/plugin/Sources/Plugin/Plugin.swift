import Clocks

#if canImport(Glibc)
  import Glibc
#endif

/// Code of a library that takes a clock. It also has test helpers, which use a test clock of its own copy.
public enum Plugin {
  public static var selfTest: String { "\(SchedulerCapability.selfTest)" }

  public static func twoSeconds(on clock: some Clock<Duration>) async throws -> String {
    try await clock.sleep(for: .seconds(2))
    return "two seconds"
  }

  /// Returns what a task did in a second of a test clock.
  public static func second() async -> String {
    let clock = TestClock()
    let task = Task {
      try await clock.sleep(for: .seconds(1))
      return "woken"
    }
    await clock.advance(by: .seconds(1))
    task.cancel()
    return (try? await task.value) ?? "not woken"
  }

  /// Returns how long an hour of virtual time lasted.
  public static func hour() async throws -> Duration {
    let start = SuspendingClock.now
    try await withVirtualTime { time in
      try await time.clock.sleep(for: .seconds(3600))
    }
    return SuspendingClock.now - start
  }
}

/// Returns the self-test of this library's copy, in memory that the caller frees.
@_cdecl("selfTestOfPlugin")
func selfTestOfPlugin() -> UnsafeMutablePointer<CChar>? { strdup(Plugin.selfTest) }
