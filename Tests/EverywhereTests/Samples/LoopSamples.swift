import Synchronization
import Testing

/// Loops that do not suspend until another task ends them. They pass in real time, where tasks run in parallel.
@Suite(.enabled(if: runsSamples)) struct EverywhereLoopSamples {
  private final class Flags: Sendable {
    let hasBegun = Atomic(false)
    let isSet = Atomic(false)

    func spin() {
      hasBegun.store(true, ordering: .sequentiallyConsistent)
      while !isSet.load(ordering: .sequentiallyConsistent) {}
    }

    /// Yields until the loop has begun.
    func awaitSpin() async {
      while !hasBegun.load(ordering: .sequentiallyConsistent) { await Task.yield() }
    }

    func set() { isSet.store(true, ordering: .sequentiallyConsistent) }
  }

  private let flags = Flags()

  @Test func anotherTaskEndsTheLoop() async throws {
    let start = ContinuousClock.now
    async let loop: Void = flags.spin()
    await flags.awaitSpin()
    flags.set()
    await loop
    try await Task.sleep(for: .seconds(60))
    // Time has not moved while the loop continued.
    let time = ContinuousClock.now - start
    #expect(time >= .seconds(60) && time < .seconds(61))
  }

  @Test func theMainActorLoops() async {
    let loop = Task { @MainActor in flags.spin() }
    let later = Task { @MainActor [flags] in
      await flags.awaitSpin()
      return flags.isSet.load(ordering: .sequentiallyConsistent)
    }
    await flags.awaitSpin()
    flags.set()
    await loop.value
    #expect(await later.value)
  }

  /// After the loop, the task that looped sleeps, and so does the one that ended the loop.
  @Test func theLoopGoesOnAsATask() async throws {
    let start = ContinuousClock.now
    let loop = Task.detached { [flags] in
      flags.spin()
      try await Task.sleep(for: .seconds(30))
      return ContinuousClock.now - start
    }
    await flags.awaitSpin()
    flags.set()
    try await Task.sleep(for: .seconds(20))
    let time = try await loop.value
    #expect(time >= .seconds(30) && time < .seconds(51))
  }

  @Test func waitsForTime() async throws {
    let loop = Task.detached { [flags] in flags.spin() }
    await flags.awaitSpin()
    try await Task.sleep(for: .seconds(60))
    flags.set()
    await loop.value
  }
}
